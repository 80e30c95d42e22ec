"""The web page: built files beside this module, or one plain page that says how to build them."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter, Request
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, HTMLResponse, Response

STATIC = Path(__file__).parent / "static"
# Never answered with the page: what lives there answers for itself.
_NOT_THE_PAGE = ("api/", "lake/", "healthz", "readyz", "metrics")
_IMMUTABLE = "public, max-age=31536000, immutable"

_NOT_BUILT = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Millpond</title></head>
<body>
<h1>Millpond is running</h1>
<p>The server, its API and the command line work. The web page has not been built on this machine.</p>
<p>Install Node 20 or newer, run <code>make web</code> in the source directory, then load this page again.</p>
<p><a href="/api/v1/openapi.json">The API's description</a></p>
</body></html>
"""


def page_router() -> APIRouter:
    """GET of everything that no other route has; included last."""
    router = APIRouter(include_in_schema=False)

    @router.api_route("/{path:path}", methods=["GET", "HEAD"])
    def web_page(request: Request, path: str) -> Response:
        return _answer(STATIC.resolve(), path, wants_html="text/html" in request.headers.get("accept", ""))

    return router


def _answer(directory: Path, path: str, *, wants_html: bool) -> Response:
    if path.startswith(_NOT_THE_PAGE):
        raise HTTPException(404)
    file = (directory / path).resolve()
    if path and file.is_relative_to(directory) and file.is_file() and file.name != "index.html":
        # Vite puts a digest into the name of everything in assets/.
        cache = _IMMUTABLE if path.startswith("assets/") else "no-cache"
        return FileResponse(file, headers={"Cache-Control": cache})
    if path and not wants_html:
        raise HTTPException(404)
    index = directory / "index.html"
    if index.is_file():
        return FileResponse(index, headers={"Cache-Control": "no-cache"})
    return HTMLResponse(_NOT_BUILT, headers={"Cache-Control": "no-cache"})
