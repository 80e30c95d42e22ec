"""Searching a log, chunk by chunk: while one is looked through, the next ones are being unpacked.

Patterns are RE2's, which takes time in proportion to the text whatever the pattern: nobody can hold up the server.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace

import re2

from millpond.errors import BadRequest, NotFound
from millpond.model.job import Job
from millpond.model.log import LogChunk, LogName
from millpond.services.deps import Deps
from millpond.services.runs import log_chunks, logs
from millpond.services.runs.log_chunks import Log, LogView

MAX_CONTEXT = 20
# A line is shown up to here; one without an end is looked through in pieces of this size.
_SHOWN_BYTES = 2000
_LINE_BYTES = 1 << 20
_AHEAD = 3


@dataclass(frozen=True, slots=True)
class Query:
    text: str
    is_pattern: bool = False
    ignore_case: bool = False
    begin: int = 0
    context: int = 0
    most: int = 1000
    seconds: float = 20.0


@dataclass(frozen=True, slots=True)
class Hit:
    """One line that matches: the first match in it, where it lies in the log, and the lines around it."""

    offset: int
    length: int
    line: int
    line_offset: int
    text: bytes
    before: tuple[bytes, ...] = ()
    after: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class Ended:
    """How far the search came: `offset` is where to go on; `complete` when all there is was looked through."""

    offset: int
    complete: bool
    hits: int


Find = Callable[[bytes, int, int], tuple[int, int] | None]


def search(
    deps: Deps, job: Job, query: Query, attempt: int | None = None, rank: int | None = None
) -> Iterator[Hit | Ended]:
    """Hits in order, then how it ended. BadRequest for a pattern that is none."""
    find = finder(query)
    placement = logs.find_attempt(deps, job, attempt)
    if placement is None:
        return iter([Ended(0, True, 0)])
    return _searched(deps, Log(job, LogName(placement.id, logs.chosen_rank(job, placement, rank))), query, find)


def finder(query: Query) -> Find:
    """The first match between two positions, as its begin and end."""
    if not query.text or "\n" in query.text:
        raise BadRequest("Give a text or a pattern for a single line.")
    if query.is_pattern or query.ignore_case:
        pattern = _compiled(query)

        def find_pattern(data: bytes, begin: int, end: int) -> tuple[int, int] | None:
            found = pattern.search(data, begin, end)
            return found.span() if found else None

        return find_pattern
    wanted = query.text.encode()

    def find_text(data: bytes, begin: int, end: int) -> tuple[int, int] | None:
        at = data.find(wanted, begin, end)
        return (at, at + len(wanted)) if at >= 0 else None

    return find_text


def _compiled(query: Query) -> re2._Regexp[bytes]:
    options = re2.Options()
    options.log_errors = False
    options.never_nl = True
    options.case_sensitive = not query.ignore_case
    text = query.text if query.is_pattern else re2.escape(query.text)
    try:
        return re2.compile(f"(?m){text}".encode(), options)
    except re2.error as error:
        said = error.args[0].decode() if isinstance(error.args[0], bytes) else error.args[0]
        said = said.replace("(?m)", "", 1)  # ours
        raise BadRequest(
            f"{query.text[:100]!r} is not a valid pattern: {said}.", hint="Search for it as plain text."
        ) from error


def _searched(deps: Deps, log: Log, query: Query, find: Find) -> Iterator[Hit | Ended]:
    deadline = time.monotonic() + query.seconds
    hits, reached = 0, query.begin
    with log_chunks.viewed(deps, log, query.begin) as view, Pieces(deps, log, view) as pieces:
        for block in _blocks(pieces):
            for found in _hits(block, find, query.begin):
                hits += 1
                yield _with_context(pieces, found, query.context)
                if hits >= query.most:
                    yield Ended(found.line_offset + len(found.text) + 1, False, hits)
                    return
            reached = block.offset + block.end
            if time.monotonic() > deadline and reached < view.end:
                yield Ended(reached, False, hits)
                return
        yield Ended(max(reached, query.begin), not pieces.is_cut_off, hits)


@dataclass(frozen=True, slots=True)
class _Block:
    """Whole lines: `begin` to `end` of `data`, which lies at `offset` of the log; `lines` newlines are before them.

    In place: copying a log takes longer than looking through it.
    """

    offset: int
    data: bytes
    begin: int
    end: int
    lines: int


def _blocks(pieces: Pieces) -> Iterator[_Block]:
    """The log as whole lines: those of each piece, and those across two. Only a very long line, or a gap, cuts one."""
    carry, in_tail = b"", 0
    for index, piece in enumerate(pieces.all):
        data = pieces.load(index)
        if data is None:
            return
        lines = piece.lines_before + in_tail
        in_tail += data.count(b"\n") if piece.chunk is None else 0
        is_continued = pieces.is_continued(index)
        first = data.find(b"\n") + 1
        if carry and is_continued and not first and len(carry) + len(data) <= _LINE_BYTES:
            carry += data
            continue
        begin = (first or len(data)) if carry else 0
        if carry:
            across = carry + data[:begin]
            yield _Block(piece.begin - len(carry), across, 0, len(across), lines)
        end = max(begin, data.rfind(b"\n") + 1) if is_continued else len(data)
        if len(data) - end > _LINE_BYTES:
            end = len(data)
        yield _Block(piece.begin, data, begin, end, lines + (1 if carry and first else 0))
        carry = data[end:]


def _hits(block: _Block, find: Find, wanted_from: int) -> Iterator[Hit]:
    """One for each line with a match."""
    data, lines = block.data, block.lines
    position = counted = block.begin
    while position < block.end and (found := find(data, position, block.end)) is not None:
        at, end = found
        lines += data.count(b"\n", counted, at)
        counted = at
        line_begin = max(block.begin, data.rfind(b"\n", block.begin, at) + 1)
        line_end = data.find(b"\n", at, block.end)
        line_end = block.end if line_end < 0 else line_end
        if block.offset + at >= wanted_from:
            offset, line_offset = block.offset + at, block.offset + line_begin
            yield Hit(offset, end - at, lines + 1, line_offset, data[line_begin:line_end])
        position = line_end + 1


def _with_context(pieces: Pieces, hit: Hit, context: int) -> Hit:
    """The hit with the lines around it, and of its own line only what can be read."""
    column = hit.offset - hit.line_offset
    shown = hit.text
    if len(shown) > _SHOWN_BYTES:
        begin = max(0, min(column - _SHOWN_BYTES // 2, len(shown) - _SHOWN_BYTES))
        shown = shown[begin : begin + _SHOWN_BYTES]
    if not context:
        return replace(hit, text=shown)
    behind = hit.line_offset + len(hit.text) + 1
    before = pieces.read(hit.line_offset - context * _SHOWN_BYTES, hit.line_offset).splitlines()[-context:]
    after = pieces.read(behind, behind + context * _SHOWN_BYTES).splitlines()[:context]
    return replace(hit, text=shown, before=_readable(before), after=_readable(after))


def _readable(lines: list[bytes]) -> tuple[bytes, ...]:
    return tuple(line[:_SHOWN_BYTES] for line in lines)


@dataclass(frozen=True, slots=True)
class _Piece:
    """A chunk, or as much of the tail."""

    begin: int
    end: int
    lines_before: int
    chunk: LogChunk | None


class Pieces:
    """A log from some offset on, piece after piece; those to come are unpacked by other threads."""

    def __init__(self, deps: Deps, log: Log, view: LogView) -> None:
        self._deps, self._log, self._view = deps, log, view
        self.all = [_Piece(c.begin, c.end, c.lines_before, c) for c in view.chunks] + list(_of_tail(view))
        # A chunk was replaced while the search was under way: what is behind it was not looked through.
        self.is_cut_off = False
        self._threads = ThreadPoolExecutor(_AHEAD, thread_name_prefix="log search")
        self._loading: dict[int, Future[bytes | None]] = {}

    def __enter__(self) -> Pieces:
        return self

    def __exit__(self, *exc: object) -> None:
        self._threads.shutdown(cancel_futures=True)

    def load(self, index: int) -> bytes | None:
        """Its bytes; None when it is gone."""
        for coming in range(index, min(index + _AHEAD + 1, len(self.all))):
            if coming not in self._loading:
                self._loading[coming] = self._threads.submit(self._load, self.all[coming])
        for gone in [known for known in self._loading if known < index - 1]:
            del self._loading[gone]
        return self._loading[index].result()

    def is_continued(self, index: int) -> bool:
        """Whether the next one begins where this one ends."""
        return index + 1 < len(self.all) and self.all[index + 1].begin == self.all[index].end

    def read(self, begin: int, end: int) -> bytes:
        """Bytes from `begin` to `end`, as far as the pieces at hand hold them without a gap."""
        parts: list[bytes] = []
        for index in sorted(self._loading):
            piece = self.all[index]
            if piece.end <= begin or piece.begin >= end:
                continue
            data = self._loading[index].result() or b""
            if not parts and piece.begin > begin:
                begin = piece.begin
            parts.append(data[max(0, begin - piece.begin) : end - piece.begin])
        return b"".join(parts)

    def _load(self, piece: _Piece) -> bytes | None:
        if piece.chunk is None:
            return self._view.tail.read(piece.begin, piece.end) if self._view.tail else b""
        try:
            return log_chunks.load(self._deps, self._log, piece.chunk)
        except NotFound:
            self.is_cut_off = True
            return None


def _of_tail(view: LogView) -> Iterator[_Piece]:
    """The tail is read from its beginning, so that its lines are counted."""
    lines = view.newest.lines_reached if view.newest else 0
    for at in range(view.tail_begin, view.end, log_chunks.CHUNK_BYTES):
        end = min(at + log_chunks.CHUNK_BYTES, view.end)
        yield _Piece(at, end, lines, None)
