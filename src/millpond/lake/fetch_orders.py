"""Carrying out orders: a range is read over a signed URL and written as it comes, through a little memory used again.

What was just received is still near the processor when it is hashed and written (docs/design/008).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import closing
from functools import partial

from millpond.errors import BadRequest, Corrupt, Forbidden, NotFound, StoreUnavailable
from millpond.lake.range_reader import Came, RangeReader, Timeouts
from millpond.lake.range_writes import Order, ReadRange, pieces, write_range
from millpond.lake.target import Target
from millpond.retry import RetryPolicy

# Whoever gave the order has more patience, and perhaps another store.
_PATIENCE = RetryPolicy(attempts=3)
_TIMEOUTS = Timeouts(connect=5.0, read=20.0)
# Received, checked and written at a time; more where one blob is larger.
_PIECE = 1 << 20


# Told how many blobs of an order are written, after each part of it.
Written = Callable[[int], None]


class Carrier:
    """Works for any number of threads; each keeps a connection and the memory of one piece."""

    def __init__(self, into: Target, came: Came = lambda size: None) -> None:
        """`came` is told of bytes that have come, and of the same ones again, below zero, when they are written."""
        self._into = into
        self._came = came
        self._reader = RangeReader(_PATIENCE, timeouts=_TIMEOUTS)
        self._memory = _Memory()

    def carry_out(self, url: str, order: Order, tell: Written = lambda done: None) -> int:
        """Read the order's range from `url`, where its pack lies, and write what it is needed for.

        Returns for how many of its blobs that is done: all, unless the URL does not give them (any more), or wrong
        bytes, and a new one, or more patience, may help.
        """
        done = 0
        parts = list(pieces(order, lambda: _PIECE))
        memory = self._memory.of(max(part.end - part.start for part in parts))
        read_again = partial(self._reader.get_range, url)
        ranges = [(part.start, part.end) for part in parts]
        with closing(self._reader.read_ranges(url, ranges, memory, self._came)) as came:
            for part in parts:
                try:
                    data = next(came)
                except (Forbidden, NotFound, BadRequest, StoreUnavailable):
                    break
                try:
                    written = self._written(part, data, read_again)
                finally:
                    self._came(part.start - part.end)
                done += written
                tell(done)
                if written < len(part.digests):
                    break
        return done

    def _written(self, part: Order, data: memoryview, read_again: ReadRange) -> int:
        try:
            return write_range(part, data, read_again, self._into)
        except Corrupt:
            return 0


class _Memory(threading.local):
    """What one thread reads into, one piece after the other."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def of(self, size: int) -> memoryview:
        if len(self._buffer) < size:
            self._buffer = bytearray(max(size, _PIECE))
        return memoryview(self._buffer)
