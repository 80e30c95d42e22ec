"""The quality gate: a model must reach 99 % of what its FP32 reference reaches on the same samples."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from millpond.errors import Unavailable
from millpond.model.mlperf import Scenario
from millpond.perf.measuring import run_all
from millpond.perf.plan import LoadPlan
from millpond.perf.target import PerfTarget

# Answers that are no classes agree if they are as close as this, relative to their size.
_CLOSE = 1e-2


@dataclass(frozen=True, slots=True)
class Quality:
    """The gate compares `score` over `reference`. With labels both are accuracies; without, agreement and 1."""

    score: float
    reference: float
    wanted: float

    @property
    def ratio(self) -> float:
        return self.score / self.reference if self.reference else 0.0

    @property
    def is_met(self) -> bool:
        return self.ratio >= self.wanted


def measured_quality(
    plan: LoadPlan, found: PerfTarget, reference: PerfTarget, scratch: Path, labels: NDArray[Any] | None
) -> Quality:
    """Ask the model and its reference about every sample once, and compare. Raises Unavailable if one fails."""
    mine = _answers(plan, found, scratch / "quality" / "model")
    theirs = _answers(plan, reference, scratch / "quality" / "reference")
    return compare(mine, theirs, labels)


def _answers(plan: LoadPlan, target: PerfTarget, folder: Path) -> dict[int, NDArray[Any]]:
    folder.mkdir(parents=True)
    asked = replace(plan, scenario=Scenario.OFFLINE, is_accuracy=True, folder=str(folder), model=target.model)
    with target.running(folder) as server:
        (result,) = run_all(asked, [server])
    if result.errors:
        raise Unavailable(f"The quality of {target.model} cannot be measured: {result.problem}")
    return read_answers(folder / "0")


def read_answers(folder: Path) -> dict[int, NDArray[Any]]:
    """What an accuracy run kept: an answer for each sample, by its number."""
    with np.load(folder / "answers.npz", allow_pickle=False) as found:
        return {int(name[1:]): found[name] for name in found.files}


def compare(
    answers: dict[int, NDArray[Any]],
    reference: dict[int, NDArray[Any]],
    labels: NDArray[Any] | None = None,
    wanted: float = 0.99,
) -> Quality:
    """Compare answers with those of the reference, by labels where there are any. A sample without answer is wrong."""
    if labels is not None:
        count = min(len(labels), len(reference))
        return Quality(_accuracy(answers, labels, count), _accuracy(reference, labels, count), wanted)
    agreed = sum(_agrees(answers.get(index), answer) for index, answer in reference.items())
    return Quality(agreed / len(reference) if reference else 0.0, 1.0, wanted)


def _accuracy(answers: dict[int, NDArray[Any]], labels: NDArray[Any], count: int) -> float:
    right = sum(1 for index in range(count) if index in answers and _class(answers[index]) == int(labels[index]))
    return right / count if count else 0.0


def _agrees(one: NDArray[Any] | None, two: NDArray[Any]) -> bool:
    if one is None or one.shape != two.shape:
        return False
    if two.ndim == 1 and two.size > 1 and np.issubdtype(two.dtype, np.floating):
        return _class(one) == _class(two)
    scale = float(np.max(np.abs(two), initial=0.0)) or 1.0
    return bool(np.all(np.abs(one.astype(np.float64) - two) <= _CLOSE * scale))


def _class(answer: NDArray[Any]) -> int:
    """The class that scores name, or the class itself."""
    return int(answer.reshape(-1)[0]) if answer.size == 1 else int(np.argmax(answer))
