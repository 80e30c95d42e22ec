"""What a search does next and how it ends, with the reason it gives."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from millpond.decide.searches.best import best_of
from millpond.decide.searches.importance import importance
from millpond.decide.searches.outcomes import Seen, outcome
from millpond.decide.searches.rounds import RoundPlan, plan_round
from millpond.model.job import JobState
from millpond.model.job_spec import JobSpec
from millpond.model.search import (
    Direction,
    Objective,
    Parameter,
    Reading,
    Search,
    SearchSpec,
    SearchState,
    Trial,
    TrialState,
)
from millpond.model.series import Points, Summary

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
LOSS = Objective(metric="loss")
LEFT, WAITS = "{} trials left to start: parallel is 2.", "Waiting for 2 trials to end."
X = Parameter(name="x", min=0.0, max=1.0)


def a_spec(**changes: Any) -> SearchSpec:
    known = {"job": JobSpec(command=("train",)), "parameters": (X,), "objectives": (LOSS,), "max_trials": 6}
    return SearchSpec(**known | changes)  # type: ignore[arg-type]


def a_search(state: SearchState = SearchState.RUNNING, **changes: Any) -> Search:
    return Search("s", "p", "p", "sweep", "maria", "u", NOON, a_spec(**changes), state=state, reasons=("Before.",))


def some(states: str, value: float = 1.0) -> list[Trial]:
    """`s`ucceeded, `f`ailed, `r`unning, `w`aiting, `p`runed, `c`ancelled."""
    named = {state.value[0]: state for state in TrialState}
    return [
        Trial("s", n, {"x": 0.5}, NOON, state=named[letter], values=(value,) if letter == "s" else (),
              problem="exit code 1" if letter == "f" else None)
        for n, letter in enumerate(states)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("search", "trials", "plan"),
    [
        (a_search(), "", RoundPlan((LEFT.format(4), WAITS), start=2)),
        (a_search(), "sr", RoundPlan((LEFT.format(3), WAITS), start=1)),
        (
            a_search(), "sfrw",
            RoundPlan((LEFT.format(2), WAITS, "1 trial failed so far.")),
        ),
        (a_search(), "ssssr", RoundPlan((WAITS,), start=1)),
        (a_search(), "sssssr", RoundPlan(("Waiting for 1 trial to end.",))),
        (
            a_search(), "sspfss",
            RoundPlan(("All 6 trials ended.", "Best: trial 0 with loss 1."), ends=SearchState.COMPLETED),
        ),
        (a_search(SearchState.PAUSED), "sr", RoundPlan(("Before.",))),
        (a_search(SearchState.CANCELLED), "sr", RoundPlan(("Before.",))),
        (
            a_search(max_failed=2), "fsf",
            RoundPlan(("2 trials failed.", "Trial 2: exit code 1"), ends=SearchState.FAILED, stops=True),
        ),
        (
            a_search(), "fffffr",
            RoundPlan(("5 trials failed.", "Trial 4: exit code 1"), ends=SearchState.FAILED, stops=True),
        ),
        (
            a_search(), "ffffcf",
            RoundPlan(("No trial succeeded.", "Trial 5: exit code 1"), ends=SearchState.FAILED),
        ),
        (
            a_search(objectives=(Objective(metric="loss", target=2.0),)), "sr",
            RoundPlan(("Target reached by trial 0: 1.",), ends=SearchState.COMPLETED, stops=True),
        ),
        (
            a_search(objectives=(Objective(metric="acc", target=2.0, direction=Direction.MAXIMIZE),)), "sr",
            RoundPlan((LEFT.format(3), WAITS), start=1),
        ),
        (
            a_search(max_seconds=60), "sr",
            RoundPlan(("Time limit of 1 m reached.",), ends=SearchState.COMPLETED, stops=True),
        ),
        (
            a_search(max_seconds=60), "r",
            RoundPlan(("Time limit of 1 m reached.",), ends=SearchState.FAILED, stops=True),
        ),
    ],
)  # fmt: skip
def test_a_round(search: Search, trials: str, plan: RoundPlan) -> None:
    assert plan_round(search, some(trials), NOON + timedelta(seconds=60)) == plan


def test_nothing_left_to_try() -> None:
    plan = plan_round(a_search(), some("ss"), NOON, exhausted=True)
    assert (plan.ends, plan.reasons[0]) == (SearchState.COMPLETED, "Nothing is left to try after 2 trials.")


RUNNING = Trial("s", 0, {"x": 0.5}, NOON, state=TrialState.RUNNING, job_id="j", run_id="r")


def logged(*values: float) -> dict[str, Summary]:
    points = Points.of(range(len(values)), values, [0] * len(values))
    return {"loss": Summary.of(points)}


@pytest.mark.parametrize(
    ("seen", "state", "values", "said"),
    [
        (Seen(JobState.RUNNING), TrialState.RUNNING, (), None),
        (Seen(JobState.PREEMPTED), TrialState.RUNNING, (), None),
        (Seen(JobState.SUCCEEDED, summaries=logged(3, 1, 2)), TrialState.SUCCEEDED, (2.0,), None),
        (Seen(JobState.SUCCEEDED, summaries=logged(1, float("nan"))), TrialState.FAILED, (), "Its loss is nan."),
        (Seen(JobState.SUCCEEDED, summaries=logged(float("inf"))), TrialState.FAILED, (), "Its loss is inf."),
        (Seen(JobState.SUCCEEDED), TrialState.FAILED, (), "never logged the metric 'loss', nor any other"),
        (Seen(JobState.SUCCEEDED, logged=["Loss", "acc"]), TrialState.FAILED, (), "It logged: Loss …"),
        (Seen(JobState.FAILED, problem="exit code 3"), TrialState.FAILED, (), "exit code 3"),
        (Seen(JobState.CANCELLED, problem="Stopped by ada."), TrialState.CANCELLED, (), "Stopped by ada."),
        (Seen(None), TrialState.FAILED, (), "Its job was deleted."),
    ],
)
def test_what_a_trial_came_to(seen: Seen, state: TrialState, values: tuple[float, ...], said: str | None) -> None:
    found = outcome(a_spec(), RUNNING, seen, NOON)
    assert (found.state, found.values) == (state, values)
    assert (said or "") in (found.problem or "")
    assert found.is_settled == state.is_finished


def test_the_best_value_may_count() -> None:
    best = a_spec(objectives=(Objective(metric="loss", reading=Reading.BEST),))
    assert outcome(best, RUNNING, Seen(JobState.SUCCEEDED, summaries=logged(3, 1, 2)), NOON).values == (1.0,)


def test_the_best_of_several_objectives_are_those_that_none_dominates() -> None:
    both = (LOSS, Objective(metric="acc", direction=Direction.MAXIMIZE))
    values = [(1.0, 1.0), (2.0, 2.0), (2.0, 1.5), (3.0, 2.0), (0.5, 0.1), (1.0, 1.0)]
    trials = [Trial("s", n, {}, NOON, state=TrialState.SUCCEEDED, values=pair) for n, pair in enumerate(values)]
    assert [trial.number for trial in best_of(both, trials)] == [4, 0, 1]
    assert [trial.number for trial in best_of((LOSS,), trials)] == [4]


def test_the_parameter_that_matters_is_the_most_important() -> None:
    parameters = (X, Parameter(name="noise", min=0, max=99), Parameter(name="opt", values=("a", "b")))
    trials = [
        Trial("s", n, {"x": n / 40, "noise": (n * 37) % 100, "opt": "ab"[n % 2]}, NOON, state=TrialState.SUCCEEDED,
              values=((n / 40) ** 2,))
        for n in range(40)
    ]  # fmt: skip
    found = importance(parameters, trials)
    assert found[0].parameter == "x" and found[0].value > 0.8
    assert sum(one.value for one in found) == pytest.approx(1.0)
    assert importance(parameters, trials[:3]) == ()
