"""The outermost middleware: a request id, security headers, numbers for /metrics, and the edge where errors stop."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from logging import getLogger

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from millpond.api import problems
from millpond.api.metrics.requests import RequestMetrics
from millpond.api.origins import content_origin, is_content_host
from millpond.errors import Forbidden, MillError
from millpond.log_lines import REQUEST_ADDRESS, REQUEST_ID
from millpond.model.ids import new_id
from millpond.settings import Settings

logger = getLogger(__name__)

_REQUEST_ID = re.compile(rb"[A-Za-z0-9_.-]{8,64}")

RawHeader = tuple[bytes, bytes]

# What neither the page nor a document of a dataset ever asks for.
PERMISSIONS = (
    "accelerometer=(), camera=(), display-capture=(), geolocation=(), gyroscope=(), hid=(), magnetometer=(), "
    "microphone=(), midi=(), payment=(), serial=(), usb=(), xr-spatial-tracking=()"
)
ALWAYS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
    (b"permissions-policy", PERMISSIONS.encode()),
    # POST and PATCH may be repeated with a key (request_keys.py).
    (b"x-mill-request-keys", b"1"),
)
# Mantine writes style elements; everything else of the page comes from its own files. Uploads are hashed by
# WebAssembly, which has a word of its own: it allows no text to become a script. Only the second origin is framed.
_POLICY = (
    "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'; "
)


class RequestEdge:
    """ASGI middleware. An exception nobody expected is logged here with the request id and answered with 500."""

    def __init__(self, app: ASGIApp, metrics: RequestMetrics, settings: Settings) -> None:
        self._app = app
        self._metrics = metrics
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        address = scope.get("client")
        come_from = REQUEST_ADDRESS.set(str(address[0])[:64] if address else "")
        try:
            if scope["type"] == "http":
                await self._answer(scope, receive, send)
            else:
                await self._app(scope, receive, send)
        finally:
            REQUEST_ADDRESS.reset(come_from)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        request_id = _told_id(scope) or new_id(16)
        named = REQUEST_ID.set(request_id)
        scope.setdefault("state", {})["request_id"] = request_id
        started = time.monotonic()
        status = 0

        async def tagged(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = self._headers(scope, message.get("headers", ()), request_id)
            await send(message)

        try:
            if is_content_host(self._settings, scope):
                await problems.respond(request_id, _mixed_up(), status=421)(scope, receive, tagged)
                return
            await self._app(scope, receive, tagged)
        except Exception:
            logger.exception("request_failed request=%s %s %s", request_id, scope["method"], scope["path"])
            if status:
                raise  # half an answer is out: only closing the connection tells the client
            error = MillError("Something went wrong in the server.", hint=f"See its log for {request_id}.")
            await problems.respond(request_id, error)(scope, receive, tagged)
        finally:
            REQUEST_ID.reset(named)
            self._metrics.observe(scope, status, time.monotonic() - started)

    def _headers(self, scope: Scope, given: Iterable[RawHeader], request_id: str) -> list[RawHeader]:
        """Those of the answer, and ours that it does not have itself."""
        headers = list(given)
        known = dict(headers)
        added = [*ALWAYS, (b"content-security-policy", self._policy(scope).encode())]
        headers += [header for header in added if header[0] not in known]
        return [*headers, (b"x-request-id", request_id.encode())]

    def _policy(self, scope: Scope) -> str:
        content = content_origin(self._settings, scope)
        return _POLICY + (f"frame-src {content}; connect-src 'self' {content}" if content else "frame-src 'none'")


def _told_id(scope: Scope) -> str | None:
    """The id that the client or a proxy gave this request, if it is one: it goes into logs and answers."""
    told = next((value for name, value in scope["headers"] if name == b"x-request-id"), b"")
    return told.decode() if _REQUEST_ID.fullmatch(told) else None


def _mixed_up() -> MillError:
    return Forbidden(
        "This host name belongs to the second origin, but the request came to the page's port.",
        hint="The proxy must route it to the port of --content-port (docs/operations.md).",
    )
