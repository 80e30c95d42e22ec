"""Parameters in commands: where they stand, at the end, and listed by commas."""

from __future__ import annotations

import pytest

from millpond.decide.searches.commands import grid_of, with_params
from millpond.model.job_spec import JobSpec
from millpond.model.search import ParamValue


@pytest.mark.parametrize(
    ("command", "params", "filled"),
    [
        (("train", "--lr", "{lr}"), {"lr": 0.1}, ("train", "--lr", "0.1")),
        (("train", "--lr={lr}", "x{lr}y"), {"lr": 1}, ("train", "--lr=1", "x1y")),
        (("train",), {"lr": 1e-05, "flag": True}, ("train", "--lr", "1e-05", "--flag", "true")),
        (("train", "${lr}", "{other}"), {"lr": 1}, ("train", "${lr}", "{other}", "--lr", "1")),
        (("sh", "-c", "train --name {n}"), {"n": "a b"}, ("sh", "-c", "train --name 'a b'")),
        (("sh", "-c", "train"), {"n": "x;y"}, ("sh", "-c", "train --n 'x;y'")),
    ],
)
def test_filled(command: tuple[str, ...], params: dict[str, ParamValue], filled: tuple[str, ...]) -> None:
    assert with_params(JobSpec(command=command), params).command == filled


def test_a_variable_may_hold_one() -> None:
    job = with_params(JobSpec(command=("train",), env={"LR": "{lr}", "HOME": "/x"}), {"lr": 0.5})
    assert (job.command, job.env) == (("train",), {"LR": "0.5", "HOME": "/x"})


@pytest.mark.parametrize(
    ("command", "changed", "values"),
    [
        (
            "python train.py --lr 0.1,0.01 --batch=32,64 --name a,b",
            "python train.py --lr {lr} --batch={batch} --name {name}",
            {"lr": (0.1, 0.01), "batch": (32, 64), "name": ("a", "b")},
        ),
        ("train --lr 1e-3,1e-4", "train --lr {lr}", {"lr": (0.001, 0.0001)}),
        ("train --v 1.10,007", "train --v {v}", {"v": ("1.10", "007")}),
        ("train a,b --x 1", "train a,b --x 1", {}),
        ("train --on true,false", "train --on {on}", {"on": (True, False)}),
        ("train -b 1,2 3,4", "train -b {b} 3,4", {"b": (1, 2)}),
    ],
)
def test_listed_by_commas(command: str, changed: str, values: dict[str, tuple[ParamValue, ...]]) -> None:
    words, found = grid_of(command.split())
    assert (" ".join(words), {one.name: one.values for one in found}) == (changed, values)
    script, same = grid_of(("sh", "-c", command))
    assert (script[2], same) == (changed, found)


def test_quoted_texts_of_a_script_stay_as_they_are() -> None:
    script = ("sh", "-c", "echo --note 'a,b' && train --lr $LR,1")
    assert grid_of(script) == (script, ())
