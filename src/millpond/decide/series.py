"""Long series in short: their summary, and fewer points with the same peaks and valleys for a chart."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from millpond.model.series import Points, Summary

LEAST_LIMIT = 4
# Below so many points, Python's own functions are faster.
_SHORT = 64


def summarise(points: Points) -> Summary:
    """What `Summary.of` says, fast for thousands of points."""
    if len(points) < _SHORT:
        return Summary.of(points)
    steps = np.frombuffer(points.steps, dtype=np.int64)
    newest = len(steps) - 1 - int(steps[::-1].argmax())
    least, greatest = _extremes(np.frombuffer(points.values))
    kept = sorted({newest, int(least), int(greatest)})
    return replace(Summary.of(points.take(kept)), points=len(points))


def thin(points: Points, limit: int) -> Points:
    """At most `limit` (at least 4) of the points, in their order: first, last, least and greatest of each stretch.

    A stretch of nothing but NaN keeps one of them.
    """
    limit = max(LEAST_LIMIT, limit)
    count = len(points)
    if count <= limit:
        return points
    inner = np.frombuffer(points.values)[1:-1]
    stretches = (limit - 2) // 2
    width = -(-len(inner) // stretches)
    rows = np.full(stretches * width, np.nan)
    rows[: len(inner)] = inner
    begins = 1 + width * np.arange(stretches)
    places = np.concatenate([begins + found for found in _extremes(rows.reshape(stretches, width))])
    kept = np.unique(places[places < count - 1])
    return points.take([0, *kept.tolist(), count - 1])


def _extremes(values: np.ndarray[Any, Any]) -> tuple[Any, Any]:
    """Places of the least and the greatest value of each row, the first of equals; of nothing but NaN, the first."""
    unknown = np.isnan(values)
    if not unknown.any():
        return values.argmin(axis=-1), values.argmax(axis=-1)
    return np.where(unknown, np.inf, values).argmin(axis=-1), np.where(unknown, -np.inf, values).argmax(axis=-1)
