"""What is wrong with a search is said, with the field and what to do."""

from __future__ import annotations

from typing import Any

import pytest

from millpond.decide.searches.check import problems_of
from millpond.model.job_spec import JobKind, JobSpec
from millpond.model.search import Method, Objective, Parameter, Pruning, SearchSpec

LR = Parameter(name="lr", min=0.001, max=0.1, log=True)
LOSS = Objective(metric="loss")


def a_spec(**changes: Any) -> SearchSpec:
    known: dict[str, Any] = {"job": JobSpec(command=("train",)), "parameters": (LR,), "objectives": (LOSS,)}
    return SearchSpec(**known | changes)


def test_a_good_one_has_no_problems() -> None:
    assert list(problems_of(a_spec(pruning=Pruning()))) == []
    assert list(problems_of(a_spec(method=Method.RANDOM, objectives=()))) == []


@pytest.mark.parametrize(
    ("changes", "path", "said"),
    [
        ({"parameters": ()}, ("parameters",), "No parameters"),
        ({"parameters": (LR, LR)}, ("parameters", "lr"), "given twice"),
        ({"parameters": (Parameter(name="a b", values=(1,)),)}, ("parameters", "a b"), "not a name"),
        ({"parameters": (Parameter(name="a", min=3, max=1),)}, ("parameters", "a"), "must be at most max"),
        ({"parameters": (Parameter(name="a", min=1),)}, ("parameters", "a"), "or min and max"),
        ({"parameters": (Parameter(name="a", min=0.0, max=1.0, log=True),)}, ("parameters", "a"), "above 0"),
        ({"parameters": (Parameter(name="a", min=1, max=4, log=True, step=1),)}, ("parameters", "a"), "combined"),
        ({"parameters": (Parameter(name="a", min=1, max=4, step=0),)}, ("parameters", "a"), "step must be"),
        ({"parameters": (Parameter(name="a", min=0.5, max=4, type="int"),)}, ("parameters", "a"), "must be whole"),
        ({"parameters": (Parameter(name="a", values=(1, 1)),)}, ("parameters", "a"), "listed twice"),
        ({"parameters": (Parameter(name="a", values=(1,), min=3),)}, ("parameters", "a"), "either values"),
        ({"parameters": (Parameter(name="a", values=(float("nan"),)),)}, ("parameters", "a"), "finite"),
        (
            {"parameters": (Parameter(name="a", values=(1,), when={"b": (1,)}),)},
            ("parameters", "a", "when", "b"),
            "listed before it",
        ),
        (
            {"parameters": (Parameter(name="b", values=(1,)), Parameter(name="a", values=(1,), when={"b": (2,)}))},
            ("parameters", "a", "when", "b"),
            "never has the value 2",
        ),
        ({"method": Method.GRID}, ("parameters", "lr"), "a grid needs values"),
        ({"objectives": ()}, ("objective",), "needs an objective"),
        ({"objectives": (LOSS, LOSS)}, ("objectives",), "listed twice"),
        ({"objectives": (), "method": Method.RANDOM, "pruning": Pruning()}, ("pruning",), "needs an objective"),
        (
            {"objectives": (LOSS, Objective(metric="time")), "pruning": Pruning()},
            ("pruning",),
            "exactly one objective",
        ),
        ({"job": JobSpec(command=("train", "{lrr}"))}, ("job", "command"), "No parameter is called {lrr}"),
        ({"job": JobSpec(command=("train",), kind=JobKind.INTERACTIVE)}, ("job",), "interactive"),
        (
            {"method": Method.GRID, "parameters": tuple(Parameter(name=n, values=tuple(range(1000))) for n in "ab")},
            ("parameters",),
            "1,000,000 combinations",
        ),
    ],
)
def test_problems(changes: dict[str, Any], path: tuple[str, ...], said: str) -> None:
    found = list(problems_of(a_spec(**changes)))
    assert [problem.path for problem in found][:1] == [path]
    assert said in found[0].message


def test_one_that_is_not_always_used_cannot_stand_in_the_command() -> None:
    parameters = (Parameter(name="opt", values=("a", "b")), Parameter(name="mom", values=(1,), when={"opt": ("a",)}))
    found = list(problems_of(a_spec(job=JobSpec(command=("train", "--mom={mom}")), parameters=parameters)))
    assert "not used in every trial" in found[0].message
