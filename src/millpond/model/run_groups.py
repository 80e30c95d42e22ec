"""Runs counted by what they have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One value of a metric over the runs of a group that have it."""

    runs: int
    mean: float
    least: float
    greatest: float


@dataclass(frozen=True, slots=True)
class RunGroup:
    """`value` is None for runs without it. `metrics` are by column, as it is written."""

    value: str | None
    runs: int
    # The condition that holds for its runs alone; None if the language cannot say it.
    filter: str | None
    metrics: Mapping[str, Aggregate] = field(default_factory=dict)
