"""Samplers are rebuilt from stored trials: the same trials give the same parameters, whoever asks."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from millpond.decide.searches.sampling import next_params
from millpond.model.job_spec import JobSpec
from millpond.model.search import Direction, Method, Objective, Parameter, SearchSpec, Trial, TrialState

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
SPEC = SearchSpec(
    job=JobSpec(command=("train",)),
    parameters=(
        Parameter(name="x", min=-10.0, max=10.0),
        Parameter(name="n", min=1, max=64, log=True),
        Parameter(name="opt", values=("adam", "sgd", 1, True, 1.0)),
        Parameter(name="momentum", min=0.0, max=1.0, when={"opt": ("sgd",)}),
    ),
    objectives=(Objective(metric="loss"),),
    seed=7,
)


def ended(number: int, params: Any, value: float, **changes: Any) -> Trial:
    known: dict[str, Any] = {"state": TrialState.SUCCEEDED, "values": (value,)}
    return Trial("s", number, params, NOON, **known | changes)


def run(spec: SearchSpec, count: int) -> list[Trial]:
    """A search of one trial at a time, with the best value at x = 3."""
    trials: list[Trial] = []
    for number in range(count):
        (params,) = next_params(spec, trials, 1)
        trials.append(ended(number, params, (float(params["x"]) - 3) ** 2))
    return trials


@pytest.mark.parametrize("method", [Method.RANDOM, Method.TPE])
def test_equal_trials_give_equal_parameters(method: Method) -> None:
    spec = replace(SPEC, method=method)
    first, again = run(spec, 14), run(spec, 14)
    assert first == again
    assert run(replace(spec, seed=8), 3) != first[:3]
    together = next_params(spec, first[:12], 4)
    assert together == next_params(spec, first[:12], 4)
    assert together[:1] == next_params(spec, first[:12], 1)


def test_parameters_stay_in_their_ranges_and_keep_their_types() -> None:
    for trial in run(SPEC, 20):
        assert -10 <= trial.params["x"] <= 10  # type: ignore[operator]
        assert isinstance(trial.params["n"], int) and 1 <= trial.params["n"] <= 64
        assert ("momentum" in trial.params) == (trial.params["opt"] == "sgd")
    kinds = {type(trial.params["opt"]) for trial in run(replace(SPEC, method=Method.RANDOM), 40)}
    assert kinds == {str, int, bool, float}


def test_tpe_comes_nearer_than_chance() -> None:
    def middle(method: Method) -> float:
        found = sorted(trial.values[0] for trial in run(replace(SPEC, method=method), 45)[15:])
        return found[len(found) // 2]

    assert middle(Method.TPE) < middle(Method.RANDOM)


def test_every_state_of_a_trial_is_understood() -> None:
    trials = [
        *run(SPEC, 11),
        ended(11, {"x": 1.0, "n": 2, "opt": "adam"}, 0, state=TrialState.PRUNED, rungs=(4.0, None)),
        ended(12, {"x": 1.0, "n": 2, "opt": "adam"}, 0, state=TrialState.FAILED, values=()),
        ended(13, {"x": 1.0, "n": 3, "opt": "adam"}, 0, state=TrialState.RUNNING, values=()),
        ended(14, {"x": 1.0, "n": 4, "opt": "adam"}, math.nan),
    ]
    assert len(next_params(SPEC, trials, 3)) == 3


def test_several_objectives() -> None:
    both = (Objective(metric="loss"), Objective(metric="speed", direction=Direction.MAXIMIZE))
    spec = replace(SPEC, objectives=both)
    trials = [ended(n, next_params(spec, (), n + 1)[n], 0, values=(float(n), float(-n))) for n in range(12)]
    assert next_params(spec, trials, 2) == next_params(spec, trials, 2)


@pytest.mark.parametrize("method", list(Method))
def test_nothing_is_tried_twice_and_then_nothing_is_left(method: Method) -> None:
    parameters = (Parameter(name="a", values=(1, 2, 3)), Parameter(name="b", min=0, max=1))
    spec = replace(SPEC, method=method, parameters=parameters)
    found = next_params(spec, (), 100)
    assert len(found) == len({tuple(params.values()) for params in found}) == 6
    trials = [ended(number, params, number) for number, params in enumerate(found)]
    assert next_params(spec, trials, 1) == []
    assert next_params(spec, trials[:5], 5) in ([params] for params in found)


def test_a_grid_needs_no_optuna() -> None:
    code = "import sys, millpond.services.searches.rounds; sys.exit('optuna' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
