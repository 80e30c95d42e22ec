"""What lies in a commit, as bytes: one file, a directory as a zip, and tickets for documents of the second origin.

A ref may hold slashes, so it is matched as a path: these routes come before those that end with a ref.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import APIRouter, Header, Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Send
from starlette.types import Scope as ASGIScope

from millpond.api.access import DepsOf, Viewer, check_origin
from millpond.api.file_answers import SANDBOX, Part, answer_file, disposition
from millpond.api.origins import content_origin
from millpond.api.routes.commits import TreePath, commit_of
from millpond.errors import NotReady
from millpond.services.datasets import archives, files, previews
from millpond.wire import data as wire

router = APIRouter(prefix="/projects/{project}/datasets/{dataset}/commits/{ref:path}", tags=["files"])


class _Archive(StreamingResponse):
    """Ends the work when the client leaves, and not only when somebody collects the garbage."""

    def __init__(self, archive: archives.Archive, *, media_type: str, headers: Mapping[str, str]) -> None:
        super().__init__(archive.content, media_type=media_type, headers=headers)
        self._archive = archive

    async def __call__(self, scope: ASGIScope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._archive.close()


@router.get("/file", response_class=Response)
def get_file(
    dataset: str,
    ref: str,
    scope: Viewer,
    deps: DepsOf,
    path: TreePath,
    wanted: Part,
    download: bool = False,
) -> Response:
    """The bytes of one file, or a range of them."""
    file = files.open_file(deps, *commit_of(deps, scope, dataset, ref), path)
    return answer_file(deps, file, wanted, download=download)


@router.get("/zip", response_class=Response)
def get_zip(dataset: str, ref: str, scope: Viewer, deps: DepsOf, path: TreePath = "") -> Response:
    """A directory with everything below it as one zip file, made while it is sent.

    If something in the lake turns out to be damaged the connection ends early, so that nobody takes half for the whole.
    """
    archive = archives.open_archive(deps, *commit_of(deps, scope, dataset, ref), path)
    headers = {
        "Content-Disposition": disposition("attachment", archive.name),
        "Cache-Control": "private, no-store",
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": SANDBOX,
        # A proxy that collects the whole answer first would need the room for it.
        "X-Accel-Buffering": "no",
    }
    return _Archive(archive, media_type="application/zip", headers=headers)


@router.post("/preview", status_code=201)
def create_preview(
    dataset: str,
    ref: str,
    scope: Viewer,
    deps: DepsOf,
    request: Request,
    path: TreePath,
    origin: Annotated[str | None, Header(include_in_schema=False)] = None,
) -> wire.Preview:
    """A ticket for HTML or SVG, which only the second origin shows: an address that works once, for a minute."""
    content = content_origin(deps.settings, request.scope)
    if content is None:
        raise NotReady(
            "This server has no second address for your browser, so it shows HTML and SVG only as text.",
            hint="An administrator can set one: mill up --content-url (docs/operations.md).",
        )
    check_origin(request)
    found = commit_of(deps, scope, dataset, ref)
    ticket = previews.issue(deps, scope.actor, *found, path, host=urlsplit(content).netloc, page=origin)
    return wire.Preview(origin=content, url=f"{content}/t/{ticket}")
