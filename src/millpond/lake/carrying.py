"""Carrying out orders: one range is read over a signed URL, straight into memory that is used again, and written."""

from __future__ import annotations

import threading
from functools import partial

from millpond.errors import BadRequest, Forbidden, NotFound
from millpond.lake.direct import RangeReader
from millpond.lake.ranges import SEGMENT_MOST
from millpond.lake.target import Target
from millpond.lake.writing import Order, write_range


class Carrier:
    """Works for any number of threads; each keeps a connection and the memory of one range."""

    def __init__(self, into: Target) -> None:
        self._into = into
        self._reader = RangeReader()
        self._memory = _Memory()

    def carry_out(self, url: str, order: Order) -> bool:
        """Read the order's range from `url`, where its pack lies, and write what it is needed for.

        False says that the URL does not give it (any more): nothing was written, and a new URL may help.
        """
        memory = self._memory.of(order.end - order.start)
        try:
            data = self._reader.read_range(url, order.start, order.end, memory)
        except (Forbidden, NotFound, BadRequest):
            return False
        write_range(order, data, partial(self._reader.get_range, url), self._into)
        return True


class _Memory(threading.local):
    """What the ranges of one thread are read into, one after the other."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def of(self, size: int) -> memoryview:
        if len(self._buffer) < size:
            self._buffer = bytearray(max(size, SEGMENT_MOST))
        return memoryview(self._buffer)
