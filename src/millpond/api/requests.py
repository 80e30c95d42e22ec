"""The outermost middleware: a request id, security headers, numbers for /metrics, and the edge where errors stop."""

from __future__ import annotations

import time
from collections.abc import Iterable
from logging import getLogger

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from millpond.api import problems
from millpond.api.metrics import RequestMetrics
from millpond.api.origins import content_origin, is_content_host
from millpond.errors import Forbidden, MillError
from millpond.model.ids import new_id
from millpond.settings import Settings

logger = getLogger(__name__)

RawHeader = tuple[bytes, bytes]

_ALWAYS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
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
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = new_id(16)
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
            self._metrics.observe(scope, status, time.monotonic() - started)

    def _headers(self, scope: Scope, given: Iterable[RawHeader], request_id: str) -> list[RawHeader]:
        """Those of the answer, and ours that it does not have itself."""
        headers = list(given)
        known = dict(headers)
        added = [*_ALWAYS, (b"content-security-policy", self._policy(scope).encode())]
        headers += [header for header in added if header[0] not in known]
        return [*headers, (b"x-request-id", request_id.encode())]

    def _policy(self, scope: Scope) -> str:
        content = content_origin(self._settings, scope)
        return _POLICY + (f"frame-src {content}; connect-src 'self' {content}" if content else "frame-src 'none'")


def _mixed_up() -> MillError:
    return Forbidden(
        "This host name belongs to the second origin, but the request came to the page's port.",
        hint="The proxy must route it to the port of --content-port (docs/operations.md).",
    )
