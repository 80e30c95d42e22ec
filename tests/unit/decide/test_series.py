from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millpond.decide.series import thin
from millpond.model.series import Points


def points(values: list[float]) -> Points:
    return Points.of(range(len(values)), values, range(len(values)))


@given(st.lists(st.floats(), min_size=1, max_size=400), st.integers(4, 60))
def test_ends_and_extremes_stay(values: list[float], limit: int) -> None:
    found = thin(points(values), limit)
    assert len(found) <= max(limit, 4) or len(found) == len(values)
    assert (found.steps[0], found.steps[-1]) == (0, len(values) - 1)
    assert found.is_sorted
    valued = [value for value in values if not math.isnan(value)]
    if valued:
        left = [value for value in found.values if not math.isnan(value)]
        assert (min(left), max(left)) == (min(valued), max(valued))


def test_a_short_series_is_exact() -> None:
    short = points([1.0, 2.0, 3.0])
    assert thin(short, 4) is short


def test_a_spike_among_a_hundred_thousand_stays() -> None:
    values = [0.0] * 100_000
    values[77_777] = 5.0
    values[77_778] = math.nan
    found = thin(points(values), 100)
    assert len(found) <= 100
    assert 77_777 in found.steps


@pytest.mark.parametrize("limit", [4, 5, 10])
def test_nothing_but_nan(limit: int) -> None:
    found = thin(points([math.nan] * 100), limit)
    assert 2 <= len(found) <= limit
