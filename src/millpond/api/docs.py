"""The documentation at /docs: built files in `documentation/`, or one plain page that says how to get them.

`dev/build_docs.py` keeps what shrinks compressed only (`.gz`). Everybody may read it, without signing in.
"""

from __future__ import annotations

import gzip
import mimetypes
from functools import lru_cache
from hashlib import sha256
from html import escape
from pathlib import Path

from fastapi import APIRouter, Request
from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, RedirectResponse, Response

from millpond.api.static import accepts_gzip

DOCUMENTATION = Path(__file__).parent / "documentation"
COMPRESSED = ".gz"
# Stricter than the page's own: no inline scripts, no inline styles, nothing from anywhere else.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "worker-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_TYPES = {
    ".js": "text/javascript; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
}
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title></head>
<body>
<h1>{title}</h1>
{text}
</body></html>
"""
_NOT_BUILT = """<p>This server was installed without its documentation.</p>
<p>Wheels and images of a release contain it. In a clone, run <code>make docs-site</code> and load this page again.
The same pages are the Markdown files below <code>docs/</code>.</p>
<p><a href="{root}">Millpond</a> · <a href="{root}api/v1/openapi.json">The API's description</a></p>"""
_MISSING = """<p>The documentation of this version has no page <code>{path}</code>.</p>
<p><a href="{docs}">All documentation</a></p>"""


def docs_router() -> APIRouter:
    """GET below /docs; included before the page, which answers everything else."""
    router = APIRouter(include_in_schema=False)

    @router.api_route("/docs", methods=["GET", "HEAD"])
    def to_docs() -> Response:
        # Relative, for servers behind a path prefix.
        return RedirectResponse("docs/", status_code=307)

    @router.api_route("/docs/{path:path}", methods=["GET", "HEAD"])
    def documentation(request: Request, path: str) -> Response:
        answer = _answer(DOCUMENTATION.resolve(), path, request.headers)
        answer.headers["Content-Security-Policy"] = POLICY
        return answer

    return router


def _answer(directory: Path, path: str, asked: Headers) -> Response:
    if _file(directory, "index.html") is None:
        return _plain(200 if not path else 404, "The documentation is not here", _NOT_BUILT, path)
    if path.endswith("/") or not path:
        file = _file(directory, f"{path}index.html")
    else:
        file = _file(directory, path)
        if file is None and _file(directory, f"{path}/index.html"):
            return RedirectResponse(f"{path.rpartition('/')[2]}/", status_code=307)
    if file is None:
        return _plain(404, "No such page", _MISSING, path)
    return _content(file, asked)


def _file(directory: Path, path: str) -> Path | None:
    """The file at this path, or its compressed copy. Notes of the builder are no part of the site."""
    try:
        file = (directory / path).resolve()
        if not file.is_relative_to(directory) or file.name.startswith(".") or file.suffix == COMPRESSED:
            return None
        found = (file.with_name(file.name + COMPRESSED), file)
        return next((one for one in found if one.is_file()), None)
    except (OSError, ValueError):  # no file can have such a name: it is too long, or has a NUL in it
        return None


def _content(file: Path, asked: Headers) -> Response:
    data, digest = _read(file, file.stat().st_mtime_ns)
    name = file.name.removesuffix(COMPRESSED)
    is_compressed = name != file.name
    sends_compressed = is_compressed and accepts_gzip(asked.get("accept-encoding", ""))
    tag = f'"{digest}{"-gz" if sends_compressed else ""}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache", "Vary": "Accept-Encoding"}
    if tag in [word.strip().removeprefix("W/") for word in asked.get("if-none-match", "").split(",")]:
        return Response(status_code=304, headers=headers)
    if sends_compressed:
        headers["Content-Encoding"] = "gzip"
    elif is_compressed:
        data = gzip.decompress(data)
    kind = _TYPES.get(Path(name).suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"
    return Response(data, headers=headers, media_type=kind)


@lru_cache(maxsize=64)
def _read(file: Path, _changed_ns: int) -> tuple[bytes, str]:
    """The bytes and their digest: the same on every server of one version, whenever it was installed."""
    data = file.read_bytes()
    return data, sha256(data).hexdigest()[:32]


def _plain(status: int, title: str, text: str, path: str) -> Response:
    docs = "../" * path.count("/") or "./"
    filled = text.format(path=escape(path[:200]), docs=docs, root=f"{docs}../")
    return HTMLResponse(_PAGE.format(title=title, text=filled), status, headers={"Cache-Control": "no-cache"})
