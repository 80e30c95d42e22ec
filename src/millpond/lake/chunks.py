"""The chunks that large files consist of: how long they may be, and the lists that name them."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from millpond.blobs.store import Buffer
from millpond.errors import BadFormat
from millpond.lake.digests import DIGEST_SIZE

# A file of at most this many bytes is one blob; a larger one is cut. Part of the format.
WHOLE_MOST = 1 << 20
CHUNK_LEAST = 256 << 10
CHUNK_AVERAGE = 1 << 20
CHUNK_MOST = 4 << 20

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
