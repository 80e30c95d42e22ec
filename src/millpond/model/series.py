"""The points of one metric, as columns: a training run has millions of them, and a value for each would be slow."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from operator import le

MOST_STEP = 2**63 - 1
LEAST_STEP = -(2**63)


def _integers() -> array[int]:
    return array("q")


def _numbers() -> array[float]:
    return array("d")


@dataclass(frozen=True, slots=True)
class Points:
    """Equally long columns. Times are milliseconds since 1970; a value may be NaN or infinite."""

    steps: array[int] = field(default_factory=_integers)
    values: array[float] = field(default_factory=_numbers)
    times: array[int] = field(default_factory=_integers)

    @classmethod
    def of(cls, steps: Iterable[int], values: Iterable[float], times: Iterable[int]) -> Points:
        """OverflowError for a step or time that is not a signed 64-bit integer."""
        return cls(array("q", steps), array("d", values), array("q", times))

    @classmethod
    def joined(cls, parts: Iterable[Points]) -> Points:
        """One after the other."""
        whole = cls()
        for part in parts:
            whole.steps.extend(part.steps)
            whole.values.extend(part.values)
            whole.times.extend(part.times)
        return whole

    def __len__(self) -> int:
        return len(self.steps)

    @property
    def is_sorted(self) -> bool:
        """True if no step is smaller than the one before it."""
        return all(map(le, self.steps, islice(self.steps, 1, None)))

    def sorted(self) -> Points:
        """By step; points of the same step stay in their order."""
        if self.is_sorted:
            return self
        return self.take(sorted(range(len(self)), key=self.steps.__getitem__))

    def take(self, places: Sequence[int]) -> Points:
        """The points at these places, in this order."""
        return Points.of(
            map(self.steps.__getitem__, places),
            map(self.values.__getitem__, places),
            map(self.times.__getitem__, places),
        )

    def cut(self, begin: int, end: int) -> Points:
        return Points(self.steps[begin:end], self.values[begin:end], self.times[begin:end])

    def between(self, start: int | None, end: int | None) -> Points:
        """Points whose step is at least `start` and at most `end`."""
        low = LEAST_STEP if start is None else start
        high = MOST_STEP if end is None else end
        inside = [place for place, step in enumerate(self.steps) if low <= step <= high]
        return self if len(inside) == len(self) else self.take(inside)


@dataclass(frozen=True, slots=True)
class Summary:
    """What is known of a metric without reading its points. NaN counts only as a last value."""

    points: int
    last: float
    last_step: int
    last_at: int
    # None while every value was NaN.
    least: float | None
    least_step: int | None
    greatest: float | None
    greatest_step: int | None

    @classmethod
    def of(cls, points: Points) -> Summary:
        """Of at least one point. The last is the one with the greatest step, the last to come of equals."""
        # Searched by the arrays themselves: a batch may have ten thousand points.
        steps, values = points.steps, points.values
        newest = len(steps) - 1 - steps[::-1].index(max(steps))
        valued = array("d", (v for v in values if not math.isnan(v))) if any(map(math.isnan, values)) else values
        least = values.index(min(valued)) if valued else None
        greatest = values.index(max(valued)) if valued else None
        return cls(
            points=len(points),
            last=points.values[newest],
            last_step=points.steps[newest],
            last_at=points.times[newest],
            least=None if least is None else points.values[least],
            least_step=None if least is None else points.steps[least],
            greatest=None if greatest is None else points.values[greatest],
            greatest_step=None if greatest is None else points.steps[greatest],
        )

    def merged(self, later: Summary) -> Summary:
        """With points that came after these."""
        newest = later if later.last_step >= self.last_step else self
        lower = later.least is not None and (self.least is None or later.least < self.least)
        higher = later.greatest is not None and (self.greatest is None or later.greatest > self.greatest)
        least = later if lower else self
        greatest = later if higher else self
        return Summary(
            points=self.points + later.points,
            last=newest.last,
            last_step=newest.last_step,
            last_at=newest.last_at,
            least=least.least,
            least_step=least.least_step,
            greatest=greatest.greatest,
            greatest_step=greatest.greatest_step,
        )


@dataclass(frozen=True, slots=True)
class Series:
    """Points of one metric of one run, by step. `total` is how many there are in the range that was asked for."""

    run_id: str
    key: str
    points: Points
    total: int
