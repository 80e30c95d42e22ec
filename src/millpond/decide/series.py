"""Thinning long series for a chart: fewer points, the same peaks and valleys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

Point = TypeVar("Point")


def thin(points: Sequence[Point], limit: int, value: Callable[[Point], float | None]) -> list[Point]:
    """At most `limit` (at least 4) of the points, in their order: first, last, and least and greatest of each stretch.

    Points without a value stand for NaN: a stretch of nothing else keeps one of them.
    """
    limit = max(4, limit)
    if len(points) <= limit:
        return list(points)
    kept: list[Point] = [points[0]]
    inner = len(points) - 2
    stretches = (limit - 2) // 2
    for number in range(stretches):
        begin = 1 + inner * number // stretches
        end = 1 + inner * (number + 1) // stretches
        kept += [points[index] for index in _extremes(points, begin, end, value)]
    return [*kept, points[-1]]


def _extremes(points: Sequence[Point], begin: int, end: int, value: Callable[[Point], float | None]) -> list[int]:
    valued = [(found, index) for index in range(begin, end) if (found := value(points[index])) is not None]
    if not valued:
        return [begin] if begin < end else []
    return sorted({min(valued)[1], max(valued)[1]})
