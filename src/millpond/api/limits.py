"""How large a request body may be, checked before it is read and again while it streams in."""

from __future__ import annotations

import re

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from millpond.api import problems
from millpond.errors import TooLarge
from millpond.model.quantity import format_bytes
from millpond.settings import Settings

ENDPOINT_BODY = 256 << 20
_LOG_CHUNK = 8 << 20
_REQUEST_LOG = 64 << 20
_ARTIFACT = 64 << 30
_WEBHOOK = 256 << 10


class BodyLimit:
    """ASGI middleware. The answer to a body that is too large is 413, whether or not it said so beforehand."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._default = settings.max_body_bytes
        self._by_path = (
            (re.compile(r"/api/v1/projects/[^/]+/uploads/[^/]+/missing"), settings.max_digests_bytes),
            (re.compile(r"/api/v1/projects/[^/]+/uploads/[^/]+/(packs|pages)/[^/]+/bytes"), settings.max_object_bytes),
            (re.compile(r"/api/v1/projects/[^/]+/uploads/[^/]+/pages/bytes"), settings.max_digests_bytes),
            (re.compile(r"/api/v1/projects/[^/]+/datasets/[^/]+/edits"), settings.max_digests_bytes),
            (re.compile(r"/api/v1/projects/[^/]+/runs/[^/]+/artifacts"), settings.max_digests_bytes),
            (re.compile(r"/api/v1/projects/[^/]+/runs/[^/]+/artifacts/.+"), settings.max_object_bytes),
            (re.compile(r"/api/v1/projects/[^/]+/endpoints/[^/]+/v2(/.*)?"), ENDPOINT_BODY),
            # A flow may bring its code.
            (re.compile(r"/api/v1/projects/[^/]+/flows(/[^/]+|:validate)"), settings.max_object_bytes),
            (re.compile(r"/api/v1/placements/[^/]+/log"), _LOG_CHUNK),
            (re.compile(r"/api/v1/agents/request-logs/[^/]+"), _REQUEST_LOG),
            # An agent tells everything it sees each time: a volume may hold tens of thousands of commits.
            (re.compile(r"/api/v1/agents/sync"), settings.max_digests_bytes),
            (re.compile(r"/hooks/.+"), _WEBHOOK),
            (re.compile(r"/lake/.+"), settings.max_object_bytes),
            # Written to the lake piece by piece; batches of metrics are documents.
            (re.compile(r"/mlflow/[^/]+/+api/2\.0/mlflow-artifacts/.+"), _ARTIFACT),
            (re.compile(r"/mlflow/.+"), settings.max_digests_bytes),
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        most = self._limit(scope["path"])
        told = _content_length(scope)
        if told is not None and told > most:
            error = TooLarge(_message(most), limit_bytes=most)
            response = problems.respond(scope["state"]["request_id"], error)
            response.headers["Connection"] = "close"
            await response(scope, receive, send)
            return
        await self._app(scope, _counted(receive, most), send)

    def _limit(self, path: str) -> int:
        return next((most for pattern, most in self._by_path if pattern.fullmatch(path)), self._default)


def _counted(receive: Receive, most: int) -> Receive:
    taken = 0

    async def counted() -> Message:
        nonlocal taken
        message = await receive()
        if message["type"] == "http.request":
            taken += len(message.get("body", b""))
            if taken > most:
                # FastAPI turns any other exception raised while it reads a body into a plain 400.
                raise HTTPException(TooLarge.status, _message(most))
        return message

    return counted


def _content_length(scope: Scope) -> int | None:
    text = dict(scope["headers"]).get(b"content-length", b"")
    return int(text) if text.isdigit() else None


def _message(most: int) -> str:
    return f"The request body is larger than {format_bytes(most)}."
