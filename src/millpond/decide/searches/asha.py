"""ASHA: a trial goes on from a rung only while it is among the best of those that have reached it.

A trial that comes first to a rung goes on: there is nothing to compare it with yet. Later ones are compared with all
values noted there, whatever became of their trials since.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from millpond.model.search import Direction, Pruning
from millpond.model.series import Points


@dataclass(frozen=True, slots=True)
class Judgement:
    """The values at all rungs reached so far, and the rung it ends at; None: it goes on."""

    rungs: tuple[float | None, ...]
    ends_at: int | None = None


def reached(pruning: Pruning, last_step: int, noted: int) -> bool:
    """True if a trial with so many rungs noted has come to a further one."""
    return last_step >= pruning.step_of(noted)


def values_at_rungs(pruning: Pruning, points: Points) -> tuple[float | None, ...]:
    """The first value at or behind each rung's step, for points in the order of their steps; None for NaN."""
    found: list[float | None] = []
    for step, value in zip(points.steps, points.values, strict=True):
        while step >= pruning.step_of(len(found)):
            found.append(value if math.isfinite(value) else None)
    return tuple(found)


def judge(
    pruning: Pruning, direction: Direction, rungs: Sequence[float | None], noted: int,
    others: Sequence[Sequence[float | None]],
) -> Judgement:  # fmt: skip
    """Judge a trial at the rungs behind the `noted` first ones. `others` are the rungs of the other trials."""
    for rung in range(noted, len(rungs)):
        value = rungs[rung]
        if value is None:
            return Judgement(tuple(rungs[: rung + 1]), ends_at=rung)
        there = [one[rung] for one in others if len(one) > rung]
        losses = sorted(direction.loss(one) for one in (*there, value) if one is not None)
        # At least one goes on, and all that are as good as the last of those.
        kept = max(1, len(losses) // pruning.factor)
        if direction.loss(value) > losses[kept - 1]:
            return Judgement(tuple(rungs[: rung + 1]), ends_at=rung)
    return Judgement(tuple(rungs))
