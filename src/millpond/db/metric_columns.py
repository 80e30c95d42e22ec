"""Points of metrics as the database holds them: a batch for each request, and chunks of long series.

Both are part of what databases hold: a change needs a new version byte, and the old one stays readable.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from struct import Struct

import numpy as np

from millpond.model.point_bytes import WIDTH, from_columns, pack, to_bytes, to_columns, unpack_columns
from millpond.model.series import Points

_PLAIN = 1
_PACKED = 2
_CHUNK = 1
_HEAD = Struct("<BI")


def encode_batch(parts: Sequence[tuple[int, Points]]) -> bytes:
    """Points by the id of their metric: a version, how many metrics, their ids, their lengths, then the columns."""
    whole = parts[0][1] if len(parts) == 1 else Points.joined(points for _, points in parts)
    return _head(_PLAIN, [(metric, len(points)) for metric, points in parts]) + to_columns(whole)


def encode_packed(lengths: Sequence[tuple[int, int]], packed: bytes) -> bytes:
    """A batch whose columns came packed: ids of metrics with the number of their points, in their order."""
    return _head(_PACKED, lengths) + packed


def decode_batch(data: bytes) -> Iterator[tuple[int, Points]]:
    version, count = _HEAD.unpack_from(data)
    if version not in (_PLAIN, _PACKED):
        raise ValueError(f"a batch of metrics has version {version}, written by a newer server")
    ids, lengths, begin = array("q"), array("q"), _HEAD.size
    for column in (ids, lengths):
        column.frombytes(data[begin : begin + WIDTH * count])
        begin += WIDTH * count
    rest = data[begin:]
    whole = from_columns(rest) if version == _PLAIN else unpack(rest, sum(lengths))
    cuts = pairwise(accumulate(lengths, initial=0))
    return ((metric, whole.cut(begin, end)) for metric, (begin, end) in zip(ids, cuts, strict=True))


def encode_chunk(points: Points) -> bytes:
    """A version, then the points, packed."""
    return bytes((_CHUNK,)) + pack(points)


def decode_chunk(data: bytes, count: int) -> Points:
    if data[0] != _CHUNK:
        raise ValueError(f"a chunk of metrics has version {data[0]}, written by a newer server")
    return unpack(data[1:], count)


def unpack(data: bytes, count: int) -> Points:
    """Points that `pack` made bytes of. ValueError for anything else."""
    shuffled = np.frombuffer(unpack_columns(data, count), dtype=np.uint8)
    return from_columns(shuffled.reshape(WIDTH, -1).T.tobytes())


def _head(version: int, lengths: Sequence[tuple[int, int]]) -> bytes:
    ids = array("q", (metric for metric, _ in lengths))
    return _HEAD.pack(version, len(lengths)) + to_bytes(ids) + to_bytes(array("q", (count for _, count in lengths)))
