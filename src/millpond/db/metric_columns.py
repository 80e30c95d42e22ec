"""Points of metrics as the database holds them: a batch for each request, and chunks of long series.

Both are part of what databases hold: a change needs a new version byte, and the old one stays readable.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from struct import Struct

import numpy as np

from millpond.decide.point_batch import PointBatch
from millpond.model.point_bytes import WIDTH, compress, from_columns, to_bytes, to_columns, unpack_columns
from millpond.model.series import Points

_PLAIN = 1
_PACKED = 2
_CHUNK = 1
_HEAD = Struct("<BI")


def encode_batch(metric_ids: Sequence[int], batch: PointBatch) -> bytes:
    """A version, how many metrics, their ids, their lengths, then the columns of all points."""
    lengths = array("q", (summary.points for summary in batch.summaries.values()))
    head = _HEAD.pack(_PACKED if batch.is_packed else _PLAIN, len(lengths))
    return b"".join((head, to_bytes(array("q", metric_ids)), to_bytes(lengths), batch.columns))


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
    """A version, then the points, packed: what `pack` makes of them, for thousands at a time."""
    shuffled = np.frombuffer(to_columns(points), dtype=np.uint8).reshape(-1, WIDTH).T
    return bytes((_CHUNK,)) + compress(shuffled.tobytes())


def decode_chunk(data: bytes, count: int) -> Points:
    if data[0] != _CHUNK:
        raise ValueError(f"a chunk of metrics has version {data[0]}, written by a newer server")
    return unpack(data[1:], count)


def unpack(data: bytes, count: int) -> Points:
    """Points that `pack` made bytes of. ValueError for anything else."""
    shuffled = np.frombuffer(unpack_columns(data, count), dtype=np.uint8)
    return from_columns(shuffled.reshape(WIDTH, -1).T.tobytes())
