"""Lists of trials: every order is the same on all pages, and a page shows what their jobs do."""

from __future__ import annotations

import math
from typing import Any

import pytest

from millpond.db import trials
from millpond.model.search import Objective, Parameter, Trial, TrialState
from millpond.services.searches import results
from tests.unit.services.searches.test_searches import LOSS, Searching
from tests.unit.services.world import World


@pytest.mark.parametrize(
    ("sort", "upwards", "downwards"),
    [
        ("number", [0, 1, 2, 3, 4, 5, 6, 7], [7, 6, 5, 4, 3, 2, 1, 0]),
        # Pruned trials have the value they were pruned at; equal ones go by number, those without one come last.
        ("value", [3, 5, 0, 2, 1, 4, 6, 7], [2, 0, 5, 3, 1, 4, 6, 7]),
        ("loss", [3, 5, 0, 2, 1, 4, 6, 7], [2, 0, 5, 3, 1, 4, 6, 7]),
        ("acc", [2, 0, 1, 3, 4, 5, 6, 7], [0, 2, 1, 3, 4, 5, 6, 7]),
        ("state", [7, 1, 4, 3, 5, 6, 0, 2], [2, 0, 6, 5, 3, 4, 1, 7]),
        # Numbers before texts, true as 1.
        ("size", [4, 0, 6, 3, 1, 2, 5, 7], [2, 1, 3, 6, 0, 4, 5, 7]),
        ("param.number", [1, 0, 2, 3, 4, 5, 6, 7], [0, 1, 2, 3, 4, 5, 6, 7]),
    ],
)
def test_every_order_of_trials_is_the_same_on_all_pages(
    world: World, sort: str, upwards: list[int], downwards: list[int]
) -> None:
    parameters = (Parameter(name="size", values=(1, 2)), Parameter(name="number", values=(1, 2)))
    sweep = Searching(world, parameters=parameters, objectives=(LOSS, Objective(metric="acc")))
    kinds: list[tuple[TrialState, dict[str, Any], tuple[float, ...]]] = [
        (TrialState.SUCCEEDED, {"size": 2, "number": 9}, (3.0, 0.9)),
        (TrialState.FAILED, {"size": "large", "number": 1}, ()),
        (TrialState.SUCCEEDED, {"size": "small"}, (3.0, 0.1)),
        (TrialState.PRUNED, {"size": 10}, (-1e300,)),
        (TrialState.FAILED, {"size": True}, ()),
        (TrialState.PRUNED, {}, (2.5,)),
        (TrialState.RUNNING, {"size": 2.5}, ()),
        (TrialState.CANCELLED, {"size": None}, ()),
    ]
    with world.deps.db.write() as tx:
        now = world.clock.now()
        trials.insert(
            tx, [Trial(sweep.id, n, params, now, state, values=found) for n, (state, params, found) in enumerate(kinds)]
        )
    assert _numbers(world, sort, descending=False) == upwards
    assert _numbers(world, sort, descending=True) == downwards
    pruned = [number for number in upwards if kinds[number][0] is TrialState.PRUNED]
    assert _numbers(world, sort, descending=False, states=[TrialState.PRUNED]) == pruned


def _numbers(world: World, sort: str, *, descending: bool, states: Any = None) -> list[int]:
    """Read in pages of three."""
    found: list[int] = []
    cursor = None
    while not found or cursor is not None:
        page = results.list_trials(
            world.deps, world.project, "sweep", states=states, sort=sort, descending=descending, limit=3, cursor=cursor
        )
        found += [view.trial.number for view in page.items]
        cursor = page.next
    return found


def test_a_trial_whose_metric_is_no_number_comes_last(world: World) -> None:
    sweep = Searching(world, parallel=4)
    sweep.round()
    sweep.place()
    for number, value in enumerate([math.nan, 2.0, math.inf, 1.0]):
        sweep.end(number, value)
    sweep.round()
    assert _numbers(world, "value", descending=False) == [3, 1, 0, 2]
    assert _numbers(world, "value", descending=True) == [1, 3, 0, 2]


def test_a_page_of_trials_shows_the_state_of_their_jobs(world: World) -> None:
    sweep = Searching(world, parallel=2)
    sweep.round()
    sweep.place()
    sweep.end(0, 1.0)
    sweep.round()
    page = results.list_trials(
        world.deps, world.project, "sweep", states=None, sort="number", descending=False, limit=2, cursor=None
    )
    assert [view.job_state for view in page.items] == ["succeeded", sweep.job(1).status.state.value]
    assert [view.started_at for view in page.items] == [sweep.job(n).status.started_at for n in range(2)]
    assert page.items[0].started_at is not None
    assert [view.trial for view in page.items] == sweep.trials[:2]
