"""Points of one request, ready to be stored: their columns as bytes, and what they add to the summaries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np

from millpond.decide.series import summarise, summarise_columns
from millpond.model.point_bytes import COLUMNS, WIDTH, from_columns, to_columns, unpack_columns
from millpond.model.series import Points, Summary

# Many series of so few points each are faster summarised by Python's own functions.
_SHORT = 64
_Bytes = np.ndarray[Any, np.dtype[np.uint8]]


@dataclass(frozen=True, slots=True)
class PointBatch:
    """Summaries by key, each with the number of its points; their columns hold them in the same order."""

    summaries: Mapping[str, Summary]
    columns: bytes
    is_packed: bool = False


def batch_of(points: Mapping[str, Points]) -> PointBatch:
    """A batch of points, none of them empty."""
    whole = next(iter(points.values())) if len(points) == 1 else Points.joined(points.values())
    return PointBatch({key: summarise(one) for key, one in points.items()}, to_columns(whole))


def packed_batch(lengths: Mapping[str, int], packed: bytes) -> PointBatch:
    """A batch of points that came packed (model/point_bytes.py), and stay so. ValueError if they cannot be read.

    Only what summaries need is put together from the shuffled bytes: that takes the most time.
    """
    total = sum(lengths.values())
    shuffled = np.frombuffer(unpack_columns(packed, total), dtype=np.uint8).reshape(WIDTH, COLUMNS, total)
    if total < _SHORT * len(lengths):
        return replace(batch_of(_points(lengths, shuffled)), columns=packed, is_packed=True)
    steps, values = _unshuffled(shuffled[:, 0]).view("<i8"), _unshuffled(shuffled[:, 1]).view("<f8")
    summaries, begin = {}, 0
    for key, count in lengths.items():
        end = begin + count
        times = partial(_number_at, shuffled[:, 2, begin:end])
        summaries[key] = summarise_columns(steps[begin:end], values[begin:end], times)
        begin = end
    return PointBatch(summaries, packed, is_packed=True)


def _points(lengths: Mapping[str, int], shuffled: _Bytes) -> dict[str, Points]:
    whole = from_columns(_unshuffled(shuffled.reshape(WIDTH, -1)).tobytes())
    ends = accumulate(lengths.values())
    return {key: whole.cut(end - count, end) for (key, count), end in zip(lengths.items(), ends, strict=True)}


def _number_at(planes: _Bytes, place: int) -> int:
    return int.from_bytes(planes[:, place].tobytes(), "little", signed=True)


def _unshuffled(planes: _Bytes) -> _Bytes:
    """Numbers whose first bytes, second bytes, and so on, are the rows."""
    return np.ascontiguousarray(planes.T).reshape(-1)
