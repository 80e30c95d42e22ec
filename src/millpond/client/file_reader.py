"""The bytes of one file of a commit, through the server; an answer that breaks off is continued, not begun again."""

from __future__ import annotations

from collections.abc import Iterator

from millpond.client.http import Api
from millpond.client.paths import commit_path
from millpond.client.transport import Streamed
from millpond.errors import Conflict, ServerUnreachable, Unavailable

_COPY_BYTES = 1 << 20
# Answers that break off without a single byte, one after the other, before it is given up.
_IN_VAIN_MOST = 3


def read_file(api: Api, project: str, name: str, ref: str, path: str, part: str | None = None) -> Iterator[bytes]:
    """The bytes of one file, piece by piece; the rest of the commit is not read. `part` is a range as in HTTP.

    Where an answer ends early, what is missing is asked for from there on. If the server cannot read it, it says so
    then: Corrupt for damage, Unavailable for what may pass. Conflict if the ref has moved to other content meanwhile.
    """
    address = f"{commit_path(project, name, ref)}/file"
    etag: str | None = None
    at = end = in_vain = 0
    while True:
        begun = False
        wanted = part if etag is None else f"{at}-{end - 1}"
        headers = {"Range": f"bytes={wanted}"} if wanted else None
        try:
            with api.stream(address, _COPY_BYTES, headers=headers, path=path) as answer:
                begun = True
                if etag is None:
                    etag, (at, end) = answer.headers.get("ETag", ""), _extent(answer)
                elif answer.headers.get("ETag", "") != etag:
                    raise Conflict(f"{path!r} of {name}@{ref} changed while it was read.", hint="Read it again.")
                for piece in answer.pieces:
                    at, in_vain = at + len(piece), 0
                    yield piece
            return
        except ServerUnreachable as error:
            if not begun:
                raise
            if at >= end:
                return
            in_vain += 1
            if in_vain >= _IN_VAIN_MOST:
                raise Unavailable(
                    f"{path!r} of {name}@{ref} stops at byte {at:,} of {end:,} for no known reason.",
                    hint="Try again. If it stops there again, find the damage: mill data verify --full",
                ) from error


def _extent(answer: Streamed) -> tuple[int, int]:
    """Where in the file the answer begins and ends (not included)."""
    unit, _, rest = answer.headers.get("Content-Range", "").partition(" ")
    first, _, last = rest.partition("/")[0].partition("-")
    if unit == "bytes" and first.isdecimal() and last.isdecimal():
        return int(first), int(last) + 1
    length = answer.headers.get("Content-Length", "")
    return 0, int(length) if length.isdecimal() else 0
