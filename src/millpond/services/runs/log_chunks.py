"""Compressed chunks of logs in the lake's store, where every server finds them; rows say which there are.

A chunk is written before its row, and its row is removed before it: what a row names can be read. The last chunk may
be small; then the next one takes its bytes along and its place, so their number stays in proportion to the log.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import zstandard

from millpond.db import logs
from millpond.errors import NotFound
from millpond.lake.keys import ProjectKeys
from millpond.model.job import Job
from millpond.model.log import LeftOut, LogChunk, LogLimit, LogName
from millpond.services.deps import Deps
from millpond.services.runs import log_tails
from millpond.services.runs.log_tails import Tail

CHUNK_BYTES = 4 << 20
_LEVEL = 3
# A last chunk of less than this part of a whole one is written anew with what comes.
_SMALL = 4
_AT_ONCE = 4
_TRIES = 5


@dataclass(frozen=True, slots=True)
class Log:
    """One log, and the job that wrote it."""

    job: Job
    name: LogName

    def key(self, chunk: LogChunk) -> str:
        return ProjectKeys(self.job.project_id).log(self.name.placement_id, chunk.begin, chunk.end, self.name.rank)


@dataclass(frozen=True, slots=True)
class LogView:
    """What a log held at one moment: chunks from some offset on, and the tail behind them."""

    chunks: tuple[LogChunk, ...]
    newest: LogChunk | None
    tail: Tail | None

    @property
    def end(self) -> int:
        return max(self.newest.end if self.newest else 0, self.tail.end if self.tail else 0)

    @property
    def tail_begin(self) -> int:
        """Where the tail has bytes that no chunk has."""
        chunked = self.newest.end if self.newest else 0
        return max(self.tail.begin, chunked) if self.tail and self.tail.end > chunked else self.end


@contextmanager
def viewed(deps: Deps, log: Log, offset: int = 0, *, limit: int | None = None) -> Iterator[LogView]:
    """The tail is opened first: what is cut off it afterwards is still to be read there, and never missing in both."""
    with log_tails.opened(deps, log.job.id, log.name) as tail:
        with deps.db.read() as tx:
            chunks = () if limit == 0 else tuple(logs.reaching(tx, log.name, offset, limit=limit))
            newest = logs.newest(tx, log.name)
        yield LogView(chunks, newest, tail)


def load(deps: Deps, log: Log, chunk: LogChunk) -> bytes:
    """Its bytes. NotFound when it has meanwhile been replaced or left out."""
    compressed = deps.store.get(log.key(chunk))
    return zstandard.ZstdDecompressor().decompress(compressed, max_output_size=chunk.end - chunk.begin)


def cut(deps: Deps, log: Log, *, everything: bool) -> None:
    """Move whole chunks from the tail to the store, or with `everything` all there is. Only in one's turn."""
    size = chunk_bytes(deps)
    for _ in range(_TRIES):
        with viewed(deps, log, limit=0) as view:
            if view.tail is None or view.tail_begin >= view.end:
                if view.tail is not None and view.newest is not None:
                    log_tails.remove_one(deps, log.job.id, log.name)
                break
            begin, tail, newest = view.tail_begin, view.tail, view.newest
            while tail.end - begin >= size or (everything and tail.end > begin):
                taken = tail.read(begin, begin + size)
                newest = _put(deps, log, newest, begin, taken)
                if newest is None:
                    break
                begin += len(taken)
            if newest is None:
                continue  # another server was first: look again how far the chunks reach
            if begin == tail.end:
                log_tails.remove_one(deps, log.job.id, log.name)
            elif begin > tail.begin:
                log_tails.start(deps, log.job.id, log.name, begin, tail.read(begin, tail.end))
            break
    _leave_out(deps, log)


def chunk_bytes(deps: Deps) -> int:
    """A log that may hold little is kept in small pieces, so that its head and tail are about what they should be."""
    return max(1024, min(CHUNK_BYTES, deps.settings.log_bytes // 16))


def limit_of(deps: Deps) -> LogLimit:
    return LogLimit.of(deps.settings.log_bytes)


def remove(deps: Deps, job: Job, placement_id: str) -> None:
    """All logs of a placement in the store, also what a crash left without a row."""
    for info in deps.store.list(ProjectKeys(job.project_id).logs(placement_id)):
        deps.store.delete(info.key)


def _put(deps: Deps, log: Log, newest: LogChunk | None, begin: int, data: bytes) -> LogChunk | None:
    """The chunk that now ends the log; None when others have written there."""
    replaced = newest if _takes_along(deps, newest, begin) else None
    if replaced is not None:
        try:
            data, begin = load(deps, log, replaced) + data, replaced.begin
        except NotFound:
            return None
    lines_before = replaced.lines_before if replaced else newest.lines_reached if newest else 0
    compressed = zstandard.ZstdCompressor(level=_LEVEL).compress(data)
    chunk = LogChunk(begin, begin + len(data), lines_before, data.count(b"\n"), len(compressed))
    deps.store.put(log.key(chunk), compressed)
    with deps.db.write() as tx:
        added = logs.add(tx, log.name, chunk)
    if added and replaced is not None:
        deps.store.delete(log.key(replaced))
    return chunk if added else None


def _takes_along(deps: Deps, newest: LogChunk | None, begin: int) -> bool:
    return newest is not None and newest.end == begin and (newest.end - newest.begin) * _SMALL < chunk_bytes(deps)


def _leave_out(deps: Deps, log: Log) -> None:
    """Of a log that has grown beyond its limit, keep head and tail."""
    with deps.db.read() as tx:
        newest = logs.newest(tx, log.name)
        too_much = limit_of(deps).too_much(newest.end) if newest else None
        middle = logs.inside(tx, log.name, too_much) if too_much else []
    if not middle:
        return
    with deps.db.write() as tx:
        logs.remove(tx, log.name, middle)
    for chunk in middle:
        deps.store.delete(log.key(chunk))


def left_out(chunks: tuple[LogChunk, ...], tail_begin: int, begin: int = 0) -> list[LeftOut]:
    """What lies between chunks, and between the last of them and the tail."""
    found = []
    reached = begin
    for next_begin, next_end in [*((chunk.begin, chunk.end) for chunk in chunks), (tail_begin, tail_begin)]:
        if next_begin > reached:
            found.append(LeftOut(reached, next_begin))
        reached = max(reached, next_end)
    return found
