"""Objects of a lake that the server itself serves, behind URLs it has signed. Other stores serve their own.

The signature is the whole permission: whoever holds the URL may do this one thing until it expires.
"""

from __future__ import annotations

from base64 import b64encode
from hashlib import md5
from typing import Annotated
from zlib import crc32

from fastapi import APIRouter, Header, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, Response

from millpond.api.access import DepsOf
from millpond.api.ranges import parse_range
from millpond.blobs.local import LocalStore
from millpond.blobs.signing import LocalSigner
from millpond.blobs.store import CRC32_HEADER, BlobStore
from millpond.errors import BadRequest, Conflict, NotFound
from millpond.lake.keys import is_page
from millpond.services.commits import pages
from millpond.services.datasets.file_types import BINARY
from millpond.services.deps import Deps
from millpond.services.lake.fence import served_by_us

router = APIRouter(prefix="/lake", include_in_schema=False)

Expires = Annotated[int, Query()]
Signature = Annotated[str, Query(max_length=100)]


class _Object(FileResponse):
    """Packs are large: fewer, larger reads."""

    chunk_size = 1 << 20


@router.api_route("/{key:path}", methods=["GET", "HEAD"])
def get_object(
    key: str,
    expires: Expires,
    signature: Signature,
    deps: DepsOf,
    range_: Annotated[str | None, Header(alias="Range")] = None,
) -> Response:
    LocalSigner(deps.secret).check("GET", key, expires=expires, signature=signature)
    store = _served(deps, key)
    info = store.head(key)
    if info is None:
        raise NotFound(f"The lake has no object {key!r}.")
    if isinstance(store, LocalStore):
        return _Object(store.path(key), media_type=BINARY)
    part = parse_range(range_, info.size)
    headers = {"Accept-Ranges": "bytes"}
    if part is None:
        return Response(store.get(key), media_type=BINARY, headers=headers)
    headers["Content-Range"] = f"bytes {part[0]}-{part[1] - 1}/{info.size}"
    return Response(store.get_range(key, *part), status_code=206, media_type=BINARY, headers=headers)


@router.put("/{key:path}", status_code=200)
async def put_object(key: str, expires: Expires, signature: Signature, request: Request, deps: DepsOf) -> Response:
    """Pages of every lake, and what else the server serves.

    A page must be the one its key names. Anything else is create-only: an object that is there with the same length
    is what an earlier try of this request wrote.
    """
    LocalSigner(deps.secret).check("PUT", key, expires=expires, signature=signature)
    told = request.headers.get("content-length", "")
    if not told.isdecimal():
        raise HTTPException(411)
    body = bytearray()
    async for part in request.stream():
        body += part
    if len(body) != int(told):
        raise BadRequest(f"IncompleteBody: {len(body)} bytes came, {told} were announced.")
    told_md5, told_crc32 = request.headers.get("content-md5"), request.headers.get(CRC32_HEADER)

    def put() -> int:
        if (told_md5 and told_md5 != b64encode(md5(body, usedforsecurity=False).digest()).decode()) or (
            told_crc32 and told_crc32 != b64encode(crc32(body).to_bytes(4, "big")).decode()
        ):
            raise BadRequest("BadDigest: what came is not what was sent.")
        if is_page(key):
            pages.pass_on(deps.store, key, bytes(body))
            return 201
        store = _served(deps, key)
        try:
            deps.store.put(key, body, if_absent=True)
        except Conflict:
            there = store.head(key)
            return 200 if there is not None and there.size == len(body) else 412
        return 201

    return Response(status_code=await run_in_threadpool(put))


def _served(deps: Deps, key: str) -> BlobStore:
    served = served_by_us(deps.store, key)
    if served is None:
        raise NotFound("This lake is not served here.", hint="Its own store serves it.")
    return served
