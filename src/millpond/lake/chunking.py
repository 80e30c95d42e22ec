"""Cutting large files into chunks at content-defined places."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from pyfastcdc import FastCDC

from millpond.lake.chunks import CHUNK_AVERAGE, CHUNK_LEAST, CHUNK_MOST

# Read at once: several chunks. Two blocks are in memory for each file that is being read.
BLOCK = 8 << 20

_NOTHING = memoryview(b"")


def cut(file: BinaryIO) -> Iterator[memoryview]:
    """The chunks of what `file` (unbuffered) still holds. Each view is valid only until the next is taken."""
    return (chunk for batch in cut_batches(file) for chunk in batch)


def cut_batches(file: BinaryIO, size: int = BLOCK) -> Iterator[list[memoryview]]:
    """The same chunks, some megabytes of them at a time. A list is valid until the second one behind it is taken.

    `size` is how much `file` is thought to hold.
    """
    cutter = FastCDC(CHUNK_AVERAGE, min_size=CHUNK_LEAST, max_size=CHUNK_MOST, normalized_chunking=1, seed=0)
    buffer, other = memoryview(bytearray(min(size + 1, BLOCK))), _NOTHING
    rest = _NOTHING
    while True:
        filled = _fill(file, buffer, rest)
        chunks = [chunk.data for chunk in cutter.cut_buf(buffer[:filled])]
        if filled < len(buffer):
            yield chunks
            return
        # It ends only because the buffer does. Every cut before it is where it would be in a longer buffer, too.
        rest = chunks.pop()
        yield chunks
        buffer, other = other if len(other) == BLOCK else memoryview(bytearray(BLOCK)), buffer


def _fill(file: BinaryIO, buffer: memoryview, begin: memoryview) -> int:
    """Fill `buffer` with `begin` and what `file` gives; how many bytes came, fewer than fit only at the end."""
    filled = len(begin)
    buffer[:filled] = begin
    while filled < len(buffer) and (count := file.readinto(buffer[filled:])):  # type: ignore[attr-defined]
        filled += count
    return filled
