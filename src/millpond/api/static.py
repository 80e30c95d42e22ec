"""The web page: built files beside this module, or one plain page that says how to build them.

`dev/build_web.py` puts a compressed copy (`.gz`) beside every file that shrinks; browsers get that one.
"""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Iterator
from pathlib import Path

from fastapi import APIRouter, Request
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, HTMLResponse, Response

STATIC = Path(__file__).parent / "static"
COMPRESSED = ".gz"
# Never answered with the page: what lives there answers for itself.
_NOT_THE_PAGE = ("api/", "lake/", "mlflow/", "healthz", "readyz", "metrics")
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
        return _answer(STATIC.resolve(), path, request.headers)

    return router


def _answer(directory: Path, path: str, asked: Headers) -> Response:
    wants_html = "text/html" in asked.get("accept", "")
    if path.startswith(_NOT_THE_PAGE):
        raise HTTPException(404)
    file = _asset(directory, path)
    if file is not None:
        # Vite puts a digest into the name of everything in assets/.
        return _file(file, asked, cache=_IMMUTABLE if path.startswith("assets/") else "no-cache")
    if path and not wants_html:
        raise HTTPException(404)
    index = directory / "index.html"
    if index.is_file():
        return _file(index, asked, cache="no-cache")
    return HTMLResponse(_NOT_BUILT, headers={"Cache-Control": "no-cache"})


def _asset(directory: Path, path: str) -> Path | None:
    """The file of the page at this path. Compressed copies and the builder's own notes are no part of the page."""
    try:
        file = (directory / path).resolve()
        is_there = file.is_relative_to(directory) and file.is_file()
    except (OSError, ValueError):  # no file can have such a name: it is too long, or has a NUL in it
        return None
    hidden = file.name.startswith(".") or file.name == "index.html" or file.suffix == COMPRESSED
    return file if is_there and not hidden else None


def _file(file: Path, asked: Headers, *, cache: str) -> Response:
    headers = {"Cache-Control": cache, "Vary": "Accept-Encoding"}
    compressed = file.with_name(file.name + COMPRESSED)
    if not compressed.is_file():
        return FileResponse(file, headers=headers)
    # A part of the compressed file is of no use to anybody who asks for a part of the file.
    if "range" in asked or not accepts_gzip(asked.get("accept-encoding", "")):
        return FileResponse(file, headers=headers)
    media_type = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
    return FileResponse(compressed, media_type=media_type, headers={**headers, "Content-Encoding": "gzip"})


def accepts_gzip(header: str) -> bool:
    """Whether `Accept-Encoding` names gzip (or everything) and does not refuse it with `q=0`."""
    found = dict(_weights(header))
    return found.get("gzip", found.get("*", 0.0)) > 0


def _weights(header: str) -> Iterator[tuple[str, float]]:
    for part in header.lower().split(","):
        name, _, rest = part.strip().partition(";")
        weight = re.fullmatch(r"\s*q=([\d.]{1,6})\s*", rest)
        try:
            yield name.strip(), float(weight[1]) if weight else 1.0
        except ValueError:
            yield name.strip(), 0.0
