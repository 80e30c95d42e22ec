"""Points as bytes, as our SDK sends them and as the database keeps long series.

Three columns (steps, values, times) of 8-byte little-endian numbers one after the other; then shuffled, which is all
first bytes of the numbers, all second ones, and so on; then in zstd. Steps and times shrink to almost nothing.
"""

from __future__ import annotations

import sys
import threading
from array import array

import zstandard

from millpond.model.series import Points

WIDTH = 8
COLUMNS = 3
_LEVEL = 1
_own = threading.local()


def pack(points: Points) -> bytes:
    raw = to_columns(points)
    return compress(b"".join(raw[place::WIDTH] for place in range(WIDTH)))


def compress(shuffled: bytes) -> bytes:
    return zstandard.ZstdCompressor(level=_LEVEL).compress(shuffled)


def unpack_columns(data: bytes, count: int) -> bytes:
    """The columns of `count` points, shuffled. ValueError for anything else, before memory is taken for it."""
    size = COLUMNS * WIDTH * count
    try:
        if zstandard.frame_content_size(data) != size:
            raise ValueError(f"{count} points were announced, and others came")
        return _decompressor().decompress(data)
    except zstandard.ZstdError as error:
        raise ValueError("points that are not in zstd") from error


def _decompressor() -> zstandard.ZstdDecompressor:
    """One for each thread: making it takes half as long as using it."""
    found: zstandard.ZstdDecompressor | None = getattr(_own, "decompressor", None)
    if found is None:
        found = _own.decompressor = zstandard.ZstdDecompressor()
    return found


def to_columns(points: Points) -> bytes:
    return to_bytes(points.steps) + to_bytes(points.values) + to_bytes(points.times)


def from_columns(raw: bytes | bytearray | memoryview) -> Points:
    third = len(raw) // COLUMNS
    points = Points()
    for column, begin in ((points.steps, 0), (points.values, third), (points.times, 2 * third)):
        column.frombytes(raw[begin : begin + third])
        if sys.byteorder == "big":
            column.byteswap()
    return points


def to_bytes(column: array[int] | array[float]) -> bytes:
    if sys.byteorder == "big":
        column = column[:]
        column.byteswap()
    return column.tobytes()
