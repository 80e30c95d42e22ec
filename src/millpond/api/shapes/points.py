"""Batches of points as our SDK sends them, as the service takes them, and as a plain `RunBatch`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from millpond.db.metric_columns import unpack
from millpond.errors import Invalid
from millpond.model.series import Points
from millpond.services.runs.run_checks import check_key
from millpond.wire.points import PointsHead, decode_head
from millpond.wire.runs import written_number

# A part of a series has no more in a RunBatch.
_PART = 10_000


def read_points(content: bytes) -> tuple[PointsHead, dict[str, Points], bytes]:
    """The head, the points by key, and all of them as they came. Invalid for what cannot be read or stored."""
    try:
        head, packed = decode_head(content)
        whole = unpack(packed, head.total)
    except (ValueError, RecursionError) as error:
        raise Invalid(f"The batch of points cannot be read: {error}.") from error
    points, begin = {}, 0
    for key, count in head.lengths.items():
        check_key(key, "series")
        points[key] = whole.cut(begin, begin + count)
        begin += count
    return head, points, packed


def to_batch(head: PointsHead, points: dict[str, Points]) -> bytes:
    """The body of a `RunBatch` that says the same."""
    series = [part for key, one in points.items() for part in _parts(key, one)]
    return json.dumps({"writer": head.writer, "sequence": head.sequence, "series": series}).encode()


def _parts(key: str, points: Points) -> Iterator[dict[str, Any]]:
    for begin in range(0, len(points), _PART):
        part = points.cut(begin, begin + _PART)
        values = list(map(written_number, part.values))
        yield {"key": key, "steps": part.steps.tolist(), "values": values, "times": part.times.tolist()}
