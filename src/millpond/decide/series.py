"""Long series in short: their summary, and fewer points with the same peaks and valleys for a chart."""

from __future__ import annotations

from collections.abc import Callable
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
    return summarise_columns(steps, np.frombuffer(points.values), points.times.__getitem__)


def summarise_columns(
    steps: np.ndarray[Any, Any], values: np.ndarray[Any, Any], time_at: Callable[[int], int]
) -> Summary:
    """The same of at least one point, given as columns; `time_at` is asked for the time of the last."""
    newest = len(steps) - 1 - int(steps[::-1].argmax())
    least, greatest = int(values.argmin()), int(values.argmax())
    # Both are at a NaN if there is one.
    if np.isnan(values[least]):
        least, greatest = (int(place) for place in _extremes(values))
    # NaN is found there only if there is nothing else.
    is_known = not np.isnan(values[least])
    return Summary(
        points=len(steps),
        last=float(values[newest]),
        last_step=int(steps[newest]),
        last_at=time_at(newest),
        least=float(values[least]) if is_known else None,
        least_step=int(steps[least]) if is_known else None,
        greatest=float(values[greatest]) if is_known else None,
        greatest_step=int(steps[greatest]) if is_known else None,
    )


def step_range(points: Points) -> tuple[int, int, bool]:
    """The least and the greatest step of at least one point, and whether no step is smaller than the one before it."""
    steps = np.frombuffer(points.steps, dtype=np.int64)
    return int(steps.min()), int(steps.max()), bool((steps[1:] >= steps[:-1]).all())


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
