"""How much of the differences in an objective each parameter explains alone.

The share of variance between groups of equal values, corrected for the number of groups (epsilon squared): with few
trials a parameter with many values explains much by chance. A range is cut into up to five groups of equal counts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

from millpond.model.search import Importance, Parameter, Trial, as_text

METHOD = "variance"
LEAST_TRIALS = 4
_GROUPS = 5


def importance(parameters: Sequence[Parameter], trials: Sequence[Trial], objective: int = 0) -> tuple[Importance, ...]:
    """Largest first, shares of what all explain together; nothing for fewer than `LEAST_TRIALS` ranked trials."""
    ranked = [trial for trial in trials if trial.is_ranked]
    if len(ranked) < LEAST_TRIALS:
        return ()
    shares = {one.name: _explained(one, ranked, objective) for one in parameters}
    whole = sum(shares.values())
    if whole <= 0:
        return tuple(Importance(name, 0.0) for name in shares)
    found = [Importance(name, share / whole) for name, share in shares.items()]
    return tuple(sorted(found, key=lambda one: (-one.value, one.parameter)))


def _explained(parameter: Parameter, trials: Sequence[Trial], objective: int) -> float:
    groups = [group for group in _grouped(parameter, trials, objective) if group]
    values = [value for group in groups for value in group]
    spare = len(values) - len(groups)
    total = _scatter(values)
    if len(groups) < 2 or spare < 1 or total == 0:
        return 0.0
    within = sum(_scatter(group) for group in groups)
    return max(0.0, 1 - (within / spare) / (total / (len(values) - 1)))


def _grouped(parameter: Parameter, trials: Sequence[Trial], objective: int) -> list[list[float]]:
    """Values of the objective by the parameter's; trials that do not use it are a group of their own."""
    unused = [trial.values[objective] for trial in trials if parameter.name not in trial.params]
    used = [trial for trial in trials if parameter.name in trial.params]
    if not parameter.is_range:
        named: dict[str, list[float]] = defaultdict(list)
        for trial in used:
            named[as_text(trial.params[parameter.name])].append(trial.values[objective])
        return [*named.values(), unused]
    ordered = sorted(used, key=lambda trial: (float(trial.params[parameter.name]), trial.number))
    count = min(_GROUPS, max(1, len(ordered) // 2))
    cuts = [round(place * len(ordered) / count) for place in range(count + 1)]
    parts = [ordered[begin:end] for begin, end in pairwise(cuts)]
    return [*([trial.values[objective] for trial in part] for part in parts), unused]


def _scatter(values: Sequence[float]) -> float:
    mean = sum(values) / len(values)
    return sum((value - mean) ** 2 for value in values)
