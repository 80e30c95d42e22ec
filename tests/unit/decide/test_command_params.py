"""Parameters in commands: found and set in every form that people write."""

from __future__ import annotations

import pytest

from millpond.decide.command_params import find_param, set_param

CASES = [
    # command, key, found, value, command after
    (["python", "t.py", "--lr", "0.1"], "lr", "0.1", "0.01", ["python", "t.py", "--lr", "0.01"]),
    (["python", "t.py", "--lr=0.1", "x"], "lr", "0.1", "0.01", ["python", "t.py", "--lr=0.01", "x"]),
    (["t", "-lr", "1"], "lr", "1", "2", ["t", "-lr", "2"]),
    (["t", "lr=1", "opt.lr=2"], "lr", "1", "3", ["t", "lr=3", "opt.lr=2"]),
    (["t", "lr=1", "opt.lr=2"], "opt.lr", "2", "3", ["t", "lr=1", "opt.lr=3"]),
    (["t", "+lr=1"], "lr", "1", "3", ["t", "+lr=3"]),
    (["t", "--learning-rate", "1"], "learning_rate", "1", "2", ["t", "--learning-rate", "2"]),
    (["t", "--shift", "-1"], "shift", "-1", "-2", ["t", "--shift", "-2"]),
    (["t", "--amp", "--lr", "1"], "amp", "true", "false", ["t", "--lr", "1"]),
    (["t", "--amp"], "amp", "true", "true", ["t", "--amp"]),
    (["t", "--lr", "1", "--lr", "2"], "lr", "2", "3", ["t", "--lr", "3", "--lr", "3"]),
    (["sh", "-c", "python t.py --lr 0.1 && echo"], "lr", "0.1", "a b", ["sh", "-c", "python t.py --lr 'a b' && echo"]),
    (["/bin/bash", "-ec", "t --lr='0 1'; x"], "lr", "0 1", "2", ["/bin/bash", "-ec", "t --lr=2; x"]),
    (["sh", "-c", "t lr=1 mlr=2"], "lr", "1", "3", ["sh", "-c", "t lr=3 mlr=2"]),
]


@pytest.mark.parametrize(("command", "key", "found", "value", "after"), CASES)
def test_a_parameter_is_found_and_set(command: list[str], key: str, found: str, value: str, after: list[str]) -> None:
    assert find_param(command, key) == found
    assert set_param(command, key, value) == tuple(after)


@pytest.mark.parametrize(
    ("command", "key"),
    [
        (["python", "t.py", "--lrs", "1"], "lr"),
        (["lr=1"], "lr"),  # the program itself
        (["t", "--", "-"], "lr"),
        (["sh", "-c", "t --lr-decay 1"], "lr"),
        (["t", "--amp", "--x"], "am"),
    ],
)
def test_what_does_not_stand_in_the_command_is_not_found(command: list[str], key: str) -> None:
    assert find_param(command, key) is None
    assert set_param(command, key, "1") is None


def test_a_flag_takes_no_other_value() -> None:
    assert set_param(["t", "--amp"], "amp", "0.5") is None
