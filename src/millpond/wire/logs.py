"""Logs of jobs: attempts, and what a search finds. Their bytes travel as they are (docs/design/009-logs.md)."""

from __future__ import annotations

from typing import Literal

from millpond.wire.base import Response, Time

# Headers of an answer with bytes of a log.
BEGIN_HEADER = "X-Mill-Begin"
OFFSET_HEADER = "X-Mill-Offset"
SIZE_HEADER = "X-Mill-Size"
ATTEMPT_HEADER = "X-Mill-Attempt"
RANK_HEADER = "X-Mill-Rank"
COMPLETE_HEADER = "X-Mill-Complete"
LEFT_OUT_HEADER = "X-Mill-Left-Out"


class LogLeftOut(Response):
    """Bytes from `begin` to `end` (not included) are not held: the log grew beyond its limit."""

    begin: int
    end: int


class LogAttempt(Response):
    """The log of one attempt to run the job; of a distributed one, of one of its processes."""

    attempt: int
    rank: int = 0
    node: str
    created_at: Time
    ended_at: Time | None
    size: int
    lines: int
    stored_bytes: int
    left_out: list[LogLeftOut]


class LogAttempts(Response):
    """The oldest first. A log keeps at most `limit_bytes`: as much of its beginning as of its end."""

    items: list[LogAttempt]
    limit_bytes: int


class LogHit(Response):
    """A line with a match: offsets of the match and of the line, the line's number, and the lines around it.

    Bytes that are not UTF-8 are shown as U+FFFD; of a very long line only the part around the match is told.
    """

    kind: Literal["hit"] = "hit"
    offset: int
    length: int
    line: int
    line_offset: int
    text: str
    before: list[str] = []
    after: list[str] = []


class LogSearchEnd(Response):
    """The last line of an answer. Not `complete`: there were too many hits or too little time; go on at `offset`."""

    kind: Literal["end"] = "end"
    offset: int
    complete: bool
    hits: int
