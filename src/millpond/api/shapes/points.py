"""Batches of points as our SDK sends them, as the service takes them, and as a plain `RunBatch`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from millpond.db.metric_columns import unpack
from millpond.decide.point_batch import PointBatch, packed_batch
from millpond.errors import Invalid
from millpond.model.series import Points
from millpond.services.runs.run_checks import check_key
from millpond.wire.points import PointsHead, decode_head
from millpond.wire.runs import written_number

# A part of a series has no more in a RunBatch.
_PART = 10_000


def read_points(content: bytes) -> tuple[PointsHead, PointBatch]:
    """Invalid for what cannot be read or stored."""
    try:
        head, packed = decode_head(content)
        batch = packed_batch(head.lengths, packed)
    except (ValueError, RecursionError) as error:
        raise Invalid(f"The batch of points cannot be read: {error}.") from error
    for key in head.lengths:
        check_key(key, "series")
    return head, batch


def to_batch(head: PointsHead, batch: PointBatch) -> bytes:
    """The body of a `RunBatch` that says the same."""
    whole, begin = unpack(batch.columns, head.total), 0
    series: list[dict[str, Any]] = []
    for key, count in head.lengths.items():
        series += _parts(key, whole.cut(begin, begin + count))
        begin += count
    return json.dumps({"writer": head.writer, "sequence": head.sequence, "series": series}).encode()


def _parts(key: str, points: Points) -> Iterator[dict[str, Any]]:
    for begin in range(0, len(points), _PART):
        part = points.cut(begin, begin + _PART)
        values = list(map(written_number, part.values))
        yield {"key": key, "steps": part.steps.tolist(), "values": values, "times": part.times.tolist()}
