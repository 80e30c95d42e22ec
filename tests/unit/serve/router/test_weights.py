"""Requests are split exactly by weight, at every moment."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millpond.serve.router.config import RoutedVersion
from millpond.serve.router.weights import WeightedTurns


def served(*numbers: int) -> tuple[RoutedVersion, ...]:
    return tuple(RoutedVersion("m", number) for number in numbers)


def hundredths() -> st.SearchStrategy[list[int]]:
    """One to eight weights that add up to a hundred."""
    cuts = st.lists(st.integers(0, 100), min_size=0, max_size=7)
    return cuts.map(
        lambda found: [high - low for low, high in zip([0, *sorted(found)], [*sorted(found), 100], strict=True)]
    )


@given(hundredths(), st.integers(1, 350))
def test_every_prefix_is_within_one_of_the_exact_share(weights: list[int], requests: int) -> None:
    versions = served(*range(len(weights)))
    turns = WeightedTurns(dict(zip(versions, weights, strict=True)))
    counts: Counter[RoutedVersion] = Counter()
    for number in range(1, requests + 1):
        counts[turns.take(versions)] += 1
        for version, weight in zip(versions, weights, strict=True):
            assert abs(counts[version] - Fraction(number * weight, 100)) < 1


@given(hundredths(), st.integers(0, 250))
def test_any_window_of_ten_thousand_is_exact(weights: list[int], before: int) -> None:
    versions = served(*range(len(weights)))
    turns = WeightedTurns(dict(zip(versions, weights, strict=True)))
    for _ in range(before):
        turns.take(versions)
    counts = Counter(turns.take(versions) for _ in range(10_000))
    assert [counts[version] for version in versions] == [weight * 100 for weight in weights]


def test_largest_credit_alone_strays_by_more_than_one_where_the_earliest_deadline_does_not() -> None:
    weights = [5, 16, 16, 1, 1, 1, 23, 18, 3, 16]
    credits, worst = [0] * len(weights), 0
    for _ in range(100):
        credits = [credit + weight for credit, weight in zip(credits, weights, strict=True)]
        credits[credits.index(max(credits))] -= 100
        worst = max(worst, *(abs(credit) for credit in credits))
    assert worst > 100
    versions = served(*range(len(weights)))
    turns = WeightedTurns(dict(zip(versions, weights, strict=True)))
    counts: Counter[RoutedVersion] = Counter()
    for number in range(1, 101):
        counts[turns.take(versions)] += 1
        assert all(abs(100 * counts[one] - number * weights[one.version]) < 100 for one in versions)


def test_a_version_that_comes_and_goes_shifts_nothing_between_the_others() -> None:
    one, two, three = versions = served(1, 2, 3)
    turns = WeightedTurns({one: 60, two: 30, three: 10})
    together: Counter[RoutedVersion] = Counter()
    alone: Counter[RoutedVersion] = Counter()
    for _ in range(1000):
        together[turns.take(versions)] += 1
        alone[turns.take((one, three))] += 1
    assert together == {one: 600, two: 300, three: 100}
    # 60 to 10 among a thousand, to within one.
    assert alone[three] in (142, 143)


@pytest.mark.parametrize(
    ("weights", "ready", "expected"),
    [
        ({1: 100, 2: 0}, (1, 2), {1: 100}),
        ({1: 100, 2: 0}, (2,), {2: 100}),
        ({1: 0, 2: 0}, (1, 2), {1: 50, 2: 50}),
        ({}, (7, 8), {7: 50, 8: 50}),
        ({1: 95, 2: 5}, (1, 2), {1: 95, 2: 5}),
    ],
)
def test_weights_of_nothing(weights: dict[int, int], ready: tuple[int, ...], expected: dict[int, int]) -> None:
    turns = WeightedTurns({RoutedVersion("m", number): weight for number, weight in weights.items()})
    counts = Counter(turns.take(served(*ready)).version for _ in range(100))
    assert counts == expected
