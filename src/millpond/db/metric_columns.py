"""Points of metrics as bytes: plain columns for a batch, shuffled and compressed ones for a chunk.

Both are part of what databases hold: a change needs a new version byte, and the old one stays readable.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterator, Sequence
from struct import Struct

import zstandard

from millpond.model.series import Points

_BATCH = 1
_CHUNK = 1
_HEAD = Struct("<BI")
_WIDTH = 8
_LEVEL = 3


def encode_batch(parts: Sequence[tuple[int, Points]]) -> bytes:
    """Points by the id of their metric: a version, how many metrics, their ids, their lengths, then the columns."""
    ids = array("q", (metric for metric, _ in parts))
    lengths = array("q", (len(points) for _, points in parts))
    whole = parts[0][1] if len(parts) == 1 else Points.joined(points for _, points in parts)
    return _HEAD.pack(_BATCH, len(parts)) + _to_bytes(ids) + _to_bytes(lengths) + _joined(whole)


def decode_batch(data: bytes) -> Iterator[tuple[int, Points]]:
    version, count = _HEAD.unpack_from(data)
    if version != _BATCH:
        raise ValueError(f"a batch of metrics has version {version}, written by a newer server")
    start = _HEAD.size
    ids = _integers(data[start : start + _WIDTH * count])
    lengths = _integers(data[start + _WIDTH * count : start + 2 * _WIDTH * count])
    whole = _columns(data[start + 2 * _WIDTH * count :])
    begin = 0
    for metric, length in zip(ids, lengths, strict=True):
        yield metric, whole.cut(begin, begin + length)
        begin += length


def encode_chunk(points: Points) -> bytes:
    """A version, then three columns together: all first bytes of their numbers, all second ones, and so on, in zstd."""
    raw = _joined(points)
    shuffled = b"".join(raw[place::_WIDTH] for place in range(_WIDTH))
    return bytes((_CHUNK,)) + zstandard.ZstdCompressor(level=_LEVEL).compress(shuffled)


def decode_chunk(data: bytes) -> Points:
    if data[0] != _CHUNK:
        raise ValueError(f"a chunk of metrics has version {data[0]}, written by a newer server")
    shuffled = zstandard.ZstdDecompressor().decompress(data[1:])
    raw = bytearray(len(shuffled))
    count = len(shuffled) // _WIDTH
    for place in range(_WIDTH):
        raw[place::_WIDTH] = shuffled[place * count : (place + 1) * count]
    return _columns(raw)


def _columns(raw: bytes | bytearray) -> Points:
    third = len(raw) // 3
    steps, times = _integers(raw[:third]), _integers(raw[2 * third :])
    return Points(steps, _doubles(raw[third : 2 * third]), times)


def _joined(points: Points) -> bytes:
    return _to_bytes(points.steps) + _to_bytes(points.values) + _to_bytes(points.times)


def _to_bytes(column: array[int] | array[float]) -> bytes:
    if sys.byteorder == "big":
        column = column[:]
        column.byteswap()
    return column.tobytes()


def _integers(raw: bytes | bytearray) -> array[int]:
    column = array("q")
    column.frombytes(raw)
    if sys.byteorder == "big":
        column.byteswap()
    return column


def _doubles(raw: bytes | bytearray) -> array[float]:
    column = array("d")
    column.frombytes(raw)
    if sys.byteorder == "big":
        column.byteswap()
    return column
