"""The second origin: HTML and SVG that users or jobs made, each in a sandbox. It knows no cookies and no tokens.

Ports of jobs have hosts of their own here (api/ports/); this is everything else:

GET /t/{ticket}   takes a one-time ticket and leads on to
GET /c/{grant}    the document, for a quarter of an hour
GET /healthz      so that the page can see whether its browser reaches this origin
"""

from __future__ import annotations

from collections.abc import Mapping
from logging import getLogger
from urllib.parse import quote, urlsplit

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from millpond.api.access import DepsOf
from millpond.api.origins import host_of
from millpond.api.ports.app import JobPorts, is_job_host
from millpond.api.requests import PERMISSIONS
from millpond.errors import MillError
from millpond.services.datasets import previews
from millpond.services.datasets.file_types import BINARY, document_type
from millpond.services.deps import Deps

logger = getLogger(__name__)

# Without allow-same-origin a document has an origin of its own that nothing else shares, not even the next document.
# It may run what it carries; it loads nothing, sends nothing and opens nothing.
_DOCUMENT_POLICY = (
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval' data: blob:; "
    "style-src 'unsafe-inline' data:; img-src data: blob:; font-src data:; media-src data: blob:; "
    "worker-src blob:; connect-src data: blob:; form-action 'none'; base-uri 'none'; frame-ancestors {ancestors}"
)
_HEADERS: Mapping[str, str] = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Content-Security-Policy": "sandbox; default-src 'none'; frame-ancestors *",
    "X-Robots-Tag": "noindex",
    "Permissions-Policy": PERMISSIONS,
}


def create_content_app(deps: Deps) -> ASGIApp:
    """Answers the second port, whatever the requests carry for the first."""
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    app.state.deps = deps
    app.add_api_route("/healthz", _healthz, methods=["GET", "HEAD"])
    app.add_api_route("/t/{ticket}", _open, methods=["GET"])
    app.add_api_route("/c/{grant}", _document, methods=["GET"])
    app.add_exception_handler(MillError, _mill_error)
    app.add_exception_handler(HTTPException, _http_error)
    return _ByHost(_Edge(app), JobPorts(deps))


class _ByHost:
    """ASGI: the hosts of jobs lead to their ports, every other one to documents."""

    def __init__(self, documents: ASGIApp, jobs: ASGIApp) -> None:
        self._documents = documents
        self._jobs = jobs

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await (self._jobs if is_job_host(scope) else self._documents)(scope, receive, send)


class _Edge:
    """ASGI middleware: what authenticates at the first origin is gone before anything here could look at it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            dropped = (b"cookie", b"authorization")
            scope["headers"] = [(name, value) for name, value in scope["headers"] if name not in dropped]
        started = False

        async def guarded(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                told = {name for name, _ in message["headers"]}
                own = [(name.lower().encode(), value.encode()) for name, value in _HEADERS.items()]
                message["headers"] = [*message["headers"], *(pair for pair in own if pair[0] not in told)]
            await send(message)

        try:
            await self._app(scope, receive, guarded)
        except Exception:
            # No path: it holds a ticket or a grant.
            logger.exception("content_failed")
            if started or scope["type"] != "http":
                raise  # half an answer is out: only closing the connection tells the client
            await PlainTextResponse("Something went wrong in the server.", 500)(scope, receive, guarded)


def _healthz() -> Response:
    return Response(status_code=204)


def _open(ticket: str, request: Request, deps: DepsOf) -> Response:
    grant = previews.redeem(deps, ticket, host=host_of(request.scope))
    return RedirectResponse(f"/c/{grant}", status_code=303)


def _document(grant: str, request: Request, deps: DepsOf) -> Response:
    shown, file = previews.granted(deps, grant, host=host_of(request.scope))
    headers = {
        "Content-Security-Policy": _DOCUMENT_POLICY.format(ancestors=_ancestors(shown.page)),
        "Content-Disposition": f"inline; filename*=UTF-8''{quote(file.name, safe='')}",
        "Content-Length": str(file.size),
    }
    kind = document_type(file.name) or BINARY
    return StreamingResponse(file.read(deps, 0, file.size), media_type=kind, headers=headers)


def _ancestors(page: str | None) -> str:
    parts = urlsplit(page or "")
    return f"{parts.scheme}://{parts.netloc}" if parts.netloc else "'none'"


def _mill_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, MillError)
    words = " ".join(filter(None, (error.message, error.hint)))
    return PlainTextResponse(words, error.status)


def _http_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return PlainTextResponse("Not found.", error.status_code)
