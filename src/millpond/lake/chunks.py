"""Cutting large files into chunks at content-defined places, and the lists that name the chunks."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from pyfastcdc import FastCDC

from millpond.blobs.store import Buffer
from millpond.errors import BadFormat
from millpond.lake.digests import DIGEST_SIZE

# A file of at most this many bytes is one blob; a larger one is cut. Part of the format.
WHOLE_MOST = 1 << 20
CHUNK_LEAST = 256 << 10
CHUNK_AVERAGE = 1 << 20
CHUNK_MOST = 4 << 20

# Read at once: several chunks. Two blocks are in memory for each file that is being read.
BLOCK = 8 << 20

_NOTHING = memoryview(b"")
_MAGIC = b"MCL1"
_HEAD = struct.Struct("<4sI")
_ROW = DIGEST_SIZE + 4


@dataclass(frozen=True, slots=True)
class ChunkList:
    """The chunks of one file in order."""

    digests: Sequence[bytes]
    lengths: Sequence[int]

    @property
    def size(self) -> int:
        return sum(self.lengths)


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


def encode_chunk_list(chunks: ChunkList) -> bytes:
    count = len(chunks.digests)
    lengths = struct.pack(f"<{count}I", *chunks.lengths)
    return _HEAD.pack(_MAGIC, count) + b"".join(chunks.digests) + lengths


def decode_chunk_list(data: Buffer) -> ChunkList:
    """BadFormat unless `data` is a chunk list in which every chunk has a possible length."""
    view = bytes(data)
    if len(view) < _HEAD.size:
        raise BadFormat("A chunk list is too short.")
    magic, count = _HEAD.unpack_from(view)
    if magic != _MAGIC or not count or len(view) != _HEAD.size + count * _ROW:
        raise BadFormat("A chunk list does not have the right shape.")
    ends = range(_HEAD.size + DIGEST_SIZE, _HEAD.size + count * DIGEST_SIZE + 1, DIGEST_SIZE)
    lengths = struct.unpack_from(f"<{count}I", view, _HEAD.size + count * DIGEST_SIZE)
    if not (min(lengths) > 0 and max(lengths) <= CHUNK_MOST):
        raise BadFormat("A chunk list names a chunk of impossible length.")
    return ChunkList(tuple(view[end - DIGEST_SIZE : end] for end in ends), lengths)
