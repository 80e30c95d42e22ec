"""ASHA: who goes on from a rung."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millpond.decide.searches.asha import Judgement, judge, reached, values_at_rungs
from millpond.model.search import Direction, Pruning
from millpond.model.series import Points

RULE = Pruning(min_step=2, factor=3)


def test_rungs_take_the_first_value_at_or_behind_their_step() -> None:
    points = Points.of([0, 1, 3, 6, 7], [9, 8, 7, math.nan, 5], [0] * 5)
    assert values_at_rungs(RULE, points) == (7, None)
    assert reached(RULE, 17, 2) is False and reached(RULE, 18, 2) is True
    assert values_at_rungs(RULE, Points.of([100], [1.0], [0])) == (1.0, 1.0, 1.0, 1.0)


@pytest.mark.parametrize(
    ("rungs", "noted", "others", "direction", "ends_at"),
    [
        ((5.0,), 0, [], Direction.MINIMIZE, None),  # the first there goes on
        ((5.0,), 0, [(4.0,)], Direction.MINIMIZE, 0),
        ((5.0,), 0, [(4.0,)], Direction.MAXIMIZE, None),
        ((4.0,), 0, [(4.0,)], Direction.MINIMIZE, None),  # as good as the best
        ((2.0,), 0, [(1.0,), (3.0,), (4.0,), (5.0,), (6.0,)], Direction.MINIMIZE, None),  # two of six go on
        ((3.5,), 0, [(1.0,), (3.0,), (4.0,), (5.0,), (6.0,)], Direction.MINIMIZE, 0),
        ((1.0, 9.0), 1, [(2.0, 3.0)], Direction.MINIMIZE, 1),  # judged at the new rung only
        ((9.0, 1.0), 1, [(2.0, 3.0)], Direction.MINIMIZE, None),
        ((None,), 0, [], Direction.MINIMIZE, 0),  # NaN
        ((5.0,), 0, [(None,), ()], Direction.MINIMIZE, None),
    ],
)
def test_who_goes_on(
    rungs: tuple[float | None, ...], noted: int, others: list[tuple[float | None, ...]], direction: Direction,
    ends_at: int | None,
) -> None:  # fmt: skip
    kept = rungs if ends_at is None else rungs[: ends_at + 1]
    assert judge(RULE, direction, rungs, noted, others) == Judgement(kept, ends_at)


@given(st.lists(st.floats(-10, 10), min_size=1, max_size=30), st.sampled_from(list(Direction)))
def test_the_best_so_far_always_goes_on(values: list[float], direction: Direction) -> None:
    for place, value in enumerate(values):
        before = [(one,) for one in values[:place]]
        judged = judge(RULE, direction, (value,), 0, before)
        if all(not direction.better(one[0], value) for one in before):
            assert judged.ends_at is None
