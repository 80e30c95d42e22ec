"""Metrics with confidence intervals: each is computed again on many samples of the rows, drawn with replacement."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

Score = dict[str, Any]


def classification(
    truth: np.ndarray, answers: np.ndarray, classes: list[str], params: SimpleNamespace
) -> dict[str, Score]:
    guess, count = answers.argmax(1), len(classes)
    matrix = np.zeros((count, count), dtype=int)
    np.add.at(matrix, (truth, guess), 1)
    measures: dict[str, Callable[[np.ndarray], float]] = {
        "accuracy": lambda rows: float((truth[rows] == guess[rows]).mean()),
        "balanced_accuracy": lambda rows: _of_classes(truth[rows], guess[rows], count, recall),
        "f1": lambda rows: _of_classes(truth[rows], guess[rows], count, f1),
    }
    if count == 2:
        measures["auc"] = lambda rows: auc(truth[rows], answers[rows, 1])
    found = {name: interval(measure, len(truth), params) for name, measure in measures.items()}
    return found | {"confusion_matrix": {"counts": matrix.tolist()}}


def regression(truth: np.ndarray, guess: np.ndarray, params: SimpleNamespace) -> dict[str, Score]:
    def r2(rows: np.ndarray) -> float:
        spread = ((truth[rows] - truth[rows].mean()) ** 2).sum()
        return float(1 - ((truth[rows] - guess[rows]) ** 2).sum() / spread) if spread else 0.0

    measures: dict[str, Callable[[np.ndarray], float]] = {
        "r2": r2,
        "rmse": lambda rows: float(np.sqrt(((truth[rows] - guess[rows]) ** 2).mean())),
        "mae": lambda rows: float(np.abs(truth[rows] - guess[rows]).mean()),
    }
    return {name: interval(measure, len(truth), params) for name, measure in measures.items()}


def interval(measure: Callable[[np.ndarray], float], count: int, params: SimpleNamespace) -> Score:
    """The value on all rows, and the range that holds `confidence` of the values on samples."""
    randomness = np.random.default_rng(params.seed)
    values = [measure(randomness.integers(0, count, count)) for _ in range(params.samples)]
    tail = (1 - params.confidence) / 2
    low, high = np.quantile(values, [tail, 1 - tail])
    return {"value": measure(np.arange(count)), "low": float(low), "high": float(high)}


def recall(right: int, truly: int, guessed: int) -> float:
    return right / truly


def f1(right: int, truly: int, guessed: int) -> float:
    return 2 * right / (truly + guessed)


def _of_classes(truth: np.ndarray, guess: np.ndarray, count: int, measure: Callable[[int, int, int], float]) -> float:
    """The mean over all classes that occur."""
    right = np.bincount(truth[truth == guess], minlength=count)
    truly, guessed = np.bincount(truth, minlength=count), np.bincount(guess, minlength=count)
    found = [measure(right[number], truly[number], guessed[number]) for number in range(count) if truly[number]]
    return float(np.mean(found))


def auc(truth: np.ndarray, score: np.ndarray) -> float:
    """How often a row of class 1 has a higher score than one of class 0; a half where one class is missing."""
    ones, others = score[truth == 1], score[truth == 0]
    if not len(ones) or not len(others):
        return 0.5
    ordered = np.sort(others)
    below, equal = np.searchsorted(ordered, ones, "left"), np.searchsorted(ordered, ones, "right")
    return float((below + (equal - below) / 2).mean() / len(others))
