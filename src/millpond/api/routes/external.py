"""Objects of https sites that commits refer to, behind URLs the server has signed. Buckets serve their own.

The server fetches them itself, because only it looks at where each connection ends.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Query
from starlette.responses import Response, StreamingResponse

from millpond.api.access import DepsOf
from millpond.api.ranges import parse_range
from millpond.services.datasets import external
from millpond.services.datasets.external import SignedRead

router = APIRouter(prefix=external.ROUTE, include_in_schema=False)

_HEADERS = {
    "Content-Type": "application/octet-stream",
    "Content-Disposition": "attachment",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "Cache-Control": "private, no-store",
    "Accept-Ranges": "bytes",
}


@router.get("", response_class=Response)
def get_external(
    project: Annotated[str, Query(max_length=100)],
    connection: Annotated[str, Query(max_length=100)],
    uri: Annotated[str, Query(max_length=8000)],
    etag: Annotated[str, Query(max_length=1000)],
    size: int,
    expires: int,
    signature: Annotated[str, Query(max_length=100)],
    deps: DepsOf,
    range_: Annotated[str | None, Header(alias="Range")] = None,
) -> Response:
    descriptor = SignedRead(project, connection, uri, etag, size, expires).check(deps, signature)
    part = parse_range(range_, size)
    start, end = part or (0, size)
    content = external.begun(external.read_described(deps, project, descriptor, start, end))
    headers = {**_HEADERS, "ETag": etag, "Content-Length": str(end - start)}
    if part:
        headers["Content-Range"] = f"bytes {start}-{end - 1}/{size}"
    return StreamingResponse(content, status_code=206 if part else 200, headers=headers)
