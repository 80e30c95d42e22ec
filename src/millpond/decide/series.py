"""Thinning long series for a chart: fewer points, the same peaks and valleys."""

from __future__ import annotations

import math

from millpond.model.series import Points

LEAST_LIMIT = 4


def thin(points: Points, limit: int) -> Points:
    """At most `limit` (at least 4) of the points, in their order: first, last, least and greatest of each stretch.

    A stretch of nothing but NaN keeps one of them.
    """
    limit = max(LEAST_LIMIT, limit)
    count = len(points)
    if count <= limit:
        return points
    has_nan = any(map(math.isnan, points.values))
    stretches = (limit - 2) // 2
    places = [0]
    for number in range(stretches):
        begin = 1 + (count - 2) * number // stretches
        end = 1 + (count - 2) * (number + 1) // stretches
        places += _extremes(points, begin, end, has_nan)
    return points.take([*places, count - 1])


def _extremes(points: Points, begin: int, end: int, has_nan: bool) -> list[int]:
    stretch = points.values[begin:end]
    valued = [value for value in stretch if not math.isnan(value)] if has_nan else stretch
    if not valued:
        return [begin] if begin < end else []
    # Found by the array itself: a million points are looked at for one screen of charts.
    return sorted({begin + stretch.index(min(valued)), begin + stretch.index(max(valued))})
