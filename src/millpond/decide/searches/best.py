"""The best trials of a search: one for one objective, those that none other dominates for several."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from millpond.model.search import Objective, Trial

MOST = 50


def best_of(objectives: Sequence[Objective], trials: Iterable[Trial]) -> tuple[Trial, ...]:
    """Best first, the earlier of equals; nothing without objectives. At most `MOST`."""
    ranked = sorted(
        (trial for trial in trials if trial.is_ranked), key=lambda trial: (_losses(objectives, trial), trial.number)
    )
    if not objectives or not ranked:
        return ()
    if len(objectives) == 1:
        return (ranked[0],)
    front: list[Trial] = []
    for trial in ranked:
        if not any(_dominates(objectives, other, trial) for other in front):
            front.append(trial)
    return tuple(front[:MOST])


def reaches_target(objectives: Sequence[Objective], trial: Trial) -> bool:
    """True if every objective that has a target has reached it."""
    pairs = [(one, value) for one, value in zip(objectives, trial.values, strict=False) if one.target is not None]
    if not pairs or not trial.is_ranked:
        return False
    return all(one.direction.loss(value) <= one.direction.loss(one.target or 0.0) for one, value in pairs)


def _losses(objectives: Sequence[Objective], trial: Trial) -> tuple[float, ...]:
    return tuple(one.direction.loss(value) for one, value in zip(objectives, trial.values, strict=False))


def _dominates(objectives: Sequence[Objective], one: Trial, other: Trial) -> bool:
    """True if it is as good in everything; of equal ones the earlier."""
    return all(a <= b for a, b in zip(_losses(objectives, one), _losses(objectives, other), strict=True))
