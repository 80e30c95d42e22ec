"""Logs of jobs over the API: bytes by offset, as they grow, searched, and as files."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from millpond.client.http import Api, segment
from millpond.wire import logs as wire

_PIECE_BYTES = 1 << 20
_DOWNLOAD_BYTES = 4 << 20
# Between looks at a log that has nothing new.
POLL_SECONDS = 0.5

_FOUND: TypeAdapter[wire.LogHit | wire.LogSearchEnd] = TypeAdapter(wire.LogHit | wire.LogSearchEnd)


@dataclass(frozen=True, slots=True)
class LogPiece:
    """Bytes of a log, the offset of the next ones, and whether more will come."""

    content: bytes
    offset: int
    complete: bool
    begin: int = 0
    size: int = 0
    attempt: int = 0
    rank: int = 0
    # The content is no output: it says that bytes were left out here.
    left_out: bool = False


@dataclass(frozen=True, slots=True)
class LogQuery:
    """What to search for. Patterns are RE2. Matches before `offset` are skipped."""

    text: str
    regex: bool = False
    ignore_case: bool = False
    context: int = 0
    offset: int = 0


def log_path(project: str, job: str) -> str:
    return f"/projects/{segment(project)}/jobs/{segment(job)}/log"


def read_log(
    api: Api,
    project: str,
    job: str,
    offset: int = 0,
    limit: int = _PIECE_BYTES,
    attempt: int | None = None,
    rank: int | None = None,
) -> LogPiece:
    """Bytes of the newest attempt's log (or of the one asked for) from `offset`; a negative one counts from the end.

    For a distributed job, the log of `rank`; by default of the rank that failed first, else of rank 0.
    """
    params = {"offset": offset, "limit": limit, "attempt": attempt, "rank": rank}
    response = api.request("GET", log_path(project, job), params=params)
    headers = response.headers
    reached = int(headers.get(wire.OFFSET_HEADER, max(offset, 0) + len(response.content)))
    return LogPiece(
        content=response.content,
        offset=reached,
        complete=headers.get(wire.COMPLETE_HEADER) == "1",
        begin=int(headers.get(wire.BEGIN_HEADER, reached - len(response.content))),
        size=int(headers.get(wire.SIZE_HEADER, reached)),
        attempt=int(headers.get(wire.ATTEMPT_HEADER, 0)),
        rank=int(headers.get(wire.RANK_HEADER, 0)),
        left_out=wire.LEFT_OUT_HEADER in headers,
    )


def read_all(
    api: Api, project: str, job: str, offset: int = 0, attempt: int | None = None, rank: int | None = None
) -> Iterator[bytes]:
    """The current log of one attempt from `offset` on."""
    piece = read_log(api, project, job, offset, _DOWNLOAD_BYTES, attempt, rank)
    end = piece.size
    while piece.content:
        yield piece.content
        if piece.offset >= end:
            return
        piece = read_log(api, project, job, piece.offset, _DOWNLOAD_BYTES, piece.attempt, rank)


def follow_log(
    api: Api,
    project: str,
    job: str,
    offset: int = 0,
    attempt: int | None = None,
    rank: int | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[bytes]:
    """Yield the log from `offset` on, as it grows, until it is complete.

    Without `attempt`, later attempts follow.
    """
    chosen = attempt
    while True:
        piece = read_log(api, project, job, offset, attempt=chosen, rank=rank)
        chosen, offset = chosen or piece.attempt or None, piece.offset
        if piece.content:
            yield piece.content
            continue
        newest = read_log(api, project, job, offset, rank=rank) if piece.complete and attempt is None else piece
        if newest.attempt != piece.attempt:
            chosen, offset = newest.attempt, 0
        elif newest.complete:
            return
        else:
            sleep(POLL_SECONDS)


def search_log(
    api: Api,
    project: str,
    job: str,
    query: LogQuery,
    *,
    attempt: int | None = None,
    rank: int | None = None,
    at_most: int | None = None,
) -> Iterator[wire.LogHit]:
    """Every line that matches, as they are found."""
    offset, left = query.offset, at_most
    while left is None or left > 0:
        params: dict[str, Any] = {
            "q": query.text, "regex": query.regex, "ignore_case": query.ignore_case, "context": query.context,
            "offset": offset, "limit": min(left or 10_000, 10_000), "attempt": attempt,
            "rank": rank,
        }  # fmt: skip
        with api.stream(f"{log_path(project, job)}/search", 1 << 16, **params) as answer:
            for found in map(_FOUND.validate_json, _lines(answer.pieces)):
                if isinstance(found, wire.LogHit):
                    left = None if left is None else left - 1
                    yield found
                elif found.complete:
                    return
                else:
                    offset = found.offset


def list_logs(api: Api, project: str, job: str) -> wire.LogAttempts:
    """Length of each attempt's log, and how much was dropped."""
    return api.get(f"{log_path(project, job)}/attempts", wire.LogAttempts)


def download_log(
    api: Api,
    project: str,
    job: str,
    file: Path,
    *,
    offset: int = 0,
    attempt: int | None = None,
    rank: int | None = None,
) -> int:
    """Write the current log to `file`; return the number of bytes."""
    written = 0
    with open(file, "wb") as target:
        for content in read_all(api, project, job, offset, attempt, rank):
            written += target.write(content)
    return written


def _lines(pieces: Iterator[bytes]) -> Iterator[bytes]:
    rest = b""
    for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n")
        yield from whole
    if rest:
        yield rest
