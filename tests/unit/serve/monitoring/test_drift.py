"""Drift of numbers and categories, against known answers and against what must always hold."""

from __future__ import annotations

import random
from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millpond.serve.monitoring.drift import (
    DriftLevel,
    _chi_squared,
    _kolmogorov,
    _upper_gamma,
    drift_of_categories,
    drift_of_numbers,
)


def gauss(count: int, mean: float = 0.0, seed: int = 1) -> list[float]:
    chosen = random.Random(seed)
    return [chosen.gauss(mean, 1.0) for _ in range(count)]


@pytest.mark.parametrize(
    ("shift", "level"), [(0.0, DriftLevel.NONE), (0.4, DriftLevel.SOME), (1.5, DriftLevel.MUCH), (-9, DriftLevel.MUCH)]
)
def test_numbers_that_move(shift: float, level: DriftLevel) -> None:
    found = drift_of_numbers(gauss(5000), gauss(2000, shift, seed=2))
    assert found.level is level, found


def test_few_values_are_no_drift() -> None:
    assert drift_of_numbers(gauss(5000), gauss(29, 5.0)).level is DriftLevel.UNKNOWN
    found = drift_of_numbers(gauss(40), gauss(40, 0.3, seed=2))
    assert found.level is DriftLevel.NONE and found.psi > 0.1 and "chance" in found.reason


def test_a_constant_that_changes_and_values_that_are_no_numbers() -> None:
    assert drift_of_numbers([7.0] * 100, [7.0] * 100).level is DriftLevel.NONE
    for other in (7.5, 6.5, inf, nan):
        assert drift_of_numbers([7.0] * 100, [other] * 100).level is DriftLevel.MUCH, other
    assert drift_of_numbers([nan] * 100, [nan] * 100).level is DriftLevel.NONE
    half = drift_of_numbers(gauss(1000), [*gauss(500, seed=3), *([nan] * 500)])
    assert half.level is DriftLevel.MUCH and half.p_value < 1e-6


def test_categories_that_move() -> None:
    before = ["cat"] * 600 + ["dog"] * 400
    assert drift_of_categories(before, ["cat"] * 300 + ["dog"] * 200).level is DriftLevel.NONE
    assert drift_of_categories(before, ["cat"] * 100 + ["dog"] * 400).level is DriftLevel.MUCH
    assert drift_of_categories(before, ["bird"] * 500).level is DriftLevel.MUCH
    many = [str(number) for number in range(5000)]
    assert drift_of_categories(many, many).level is DriftLevel.NONE


@pytest.mark.parametrize(
    ("a", "x", "answer"),
    [(0.5, 1.9207, 0.05), (1.0, 2.9957, 0.05), (5.0, 9.1535, 0.05), (25.0, 33.7525, 0.05), (0.5, 0.0, 1.0)],
)
def test_tables_of_chi_squared(a: float, x: float, answer: float) -> None:
    assert _upper_gamma(a, x) == pytest.approx(answer, abs=1e-4)


def test_tables_of_kolmogorov() -> None:
    assert _kolmogorov(1.3581) == pytest.approx(0.05, abs=1e-4)
    assert _kolmogorov(1.6276) == pytest.approx(0.01, abs=1e-4)
    assert _kolmogorov(0.1) == 1.0 and _kolmogorov(9.0) < 1e-12


def test_chi_squared_of_a_table() -> None:
    statistic, p_value = _chi_squared([(10, 20), (30, 40)])
    assert statistic == pytest.approx(0.79365, abs=1e-4) and p_value == pytest.approx(0.373, abs=1e-3)


NUMBERS = st.lists(st.floats(), min_size=30, max_size=200)


@given(NUMBERS, NUMBERS)
def test_any_numbers_can_be_compared(before: list[float], after: list[float]) -> None:
    found = drift_of_numbers(before, after)
    assert found.psi >= 0.0 and 0.0 <= found.p_value <= 1.0 and found.reason.endswith(".")
    assert drift_of_numbers(before, before).level is DriftLevel.NONE


WORDS = st.lists(st.text(max_size=2), min_size=30, max_size=200)


@given(WORDS, WORDS)
def test_any_categories_can_be_compared(before: list[str], after: list[str]) -> None:
    found = drift_of_categories(before, after)
    assert found.psi >= 0.0 and 0.0 <= found.p_value <= 1.0
    assert drift_of_categories(before, before).level is DriftLevel.NONE
