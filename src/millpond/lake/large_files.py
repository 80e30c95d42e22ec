"""Large files of a fetch: made at their whole size, written in parts in any order, finished with the last of them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, compress

from millpond.lake.chunks import ChunkList
from millpond.lake.range_writes import Order, Use
from millpond.lake.target import Target
from millpond.lake.transfer import Meter
from millpond.model.tree import Entry, Kind

# May make a large file of parts that are there already: which of its chunks are, or None if it has not.
BeginLarge = Callable[[Entry, ChunkList, Target], Sequence[bool] | None]


class LargeFiles:
    """One thread begins files; several write them and ask what is unfinished."""

    def __init__(self, into: Target, meter: Meter, begin: BeginLarge | None) -> None:
        self._into = into
        self._meter = meter
        self._begin = begin
        # By path, from their beginning to their last part.
        self._parts: dict[bytes, _Parts] = {}

    def begin(self, entry: Entry, chunks: ChunkList) -> Iterator[tuple[bytes, Use]]:
        """Make the file. Each digest whose content it lacks, and where that belongs."""
        offset = 0
        for digest, length, is_there in zip(chunks.digests, chunks.lengths, self._made(entry, chunks), strict=True):
            if not is_there:
                yield digest, (entry.path, int(entry.kind), entry.size, offset)
            offset += length

    def unfinished(self, order: Order) -> int:
        """How many uses of an order, just written, are parts of files that wait for more.

        Files that are whole now are given their mode and time.
        """
        if not self._parts:
            return 0
        count = 0
        for path, _, _, offset in chain.from_iterable(order.uses):
            if offset is None:
                continue
            parts = self._parts[path]
            if parts.is_last():
                self._into.end_file(path, parts.kind)
                del self._parts[path]
            else:
                count += 1
        return count

    def _made(self, entry: Entry, chunks: ChunkList) -> Sequence[bool]:
        """Which of its chunks are in it already."""
        there = self._begin(entry, chunks, self._into) if self._begin else None
        if there is None:
            self._into.begin_file(entry.path, entry.size)
            there = [False] * len(chunks.digests)
        self._meter.add(bytes=sum(compress(chunks.lengths, there)))
        if all(there):
            self._into.end_file(entry.path, entry.kind)
            self._meter.add(files=1)
        else:
            self._parts[entry.path] = _Parts(entry.kind, there.count(False))
        return there


class _Parts:
    def __init__(self, kind: Kind, count: int) -> None:
        self.kind = kind
        self._left = count
        self._lock = threading.Lock()

    def is_last(self) -> bool:
        with self._lock:
            self._left -= 1
            return self._left == 0
