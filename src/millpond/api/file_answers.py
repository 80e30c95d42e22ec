"""How the bytes of one file are answered, wherever it lies: ranges, ETags, and headers that let no content run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated
from urllib.parse import quote

from fastapi import Depends, Header
from starlette.responses import Response, StreamingResponse

from millpond.api.ranges import parse_range
from millpond.services.datasets.file_types import BINARY, shown_type
from millpond.services.datasets.files import OpenFile
from millpond.services.deps import Deps

# What users or jobs produced never runs in the page's own origin.
SANDBOX = "sandbox; default-src 'none'; img-src 'self'; media-src 'self'; style-src 'unsafe-inline'"


@dataclass(frozen=True, slots=True)
class WantedPart:
    """What a request says of the part that it wants, and of what it has already."""

    range: str | None
    if_range: str | None
    if_none_match: str | None


def wanted_part(
    range_: Annotated[str | None, Header(alias="Range")] = None,
    if_range: Annotated[str | None, Header()] = None,
    if_none_match: Annotated[str | None, Header()] = None,
) -> WantedPart:
    return WantedPart(range_, if_range, if_none_match)


Part = Annotated[WantedPart, Depends(wanted_part)]


def answer_file(deps: Deps, file: OpenFile, wanted: WantedPart, *, download: bool) -> Response:
    """The bytes of one file, or a range of them."""
    headers = _file_headers(file, download=download)
    if wanted.if_none_match == headers["ETag"]:
        return Response(status_code=304, headers=headers)
    # A player that goes on where it was must not get the middle of another file.
    part = parse_range(wanted.range, file.size) if wanted.if_range in (None, headers["ETag"]) else None
    start, end = part or (0, file.size)
    headers["Content-Length"] = str(end - start)
    if part:
        headers["Content-Range"] = f"bytes {start}-{end - 1}/{file.size}"
    return StreamingResponse(file.read(deps, start, end), status_code=206 if part else 200, headers=headers)


def disposition(shown: str, name: str) -> str:
    return f"{shown}; filename*=UTF-8''{quote(name, safe='')}"


def _file_headers(file: OpenFile, *, download: bool) -> dict[str, str]:
    kind = shown_type(file.name)
    return {
        "Content-Type": kind,
        "Content-Disposition": disposition("attachment" if download or kind == BINARY else "inline", file.name),
        "Accept-Ranges": "bytes",
        "ETag": f'"{file.digest}"',
        "Cache-Control": "private, no-cache",
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": SANDBOX,
    }
