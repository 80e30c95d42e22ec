"""How long jobs wait in an engine's own queue, by what happened to those before."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from millpond.decide.engine_waits import engine_waits
from millpond.testing.clock import NOON


def given(seconds_ago: float, waited: float | None) -> tuple[str, datetime, datetime | None]:
    at = NOON - timedelta(seconds=seconds_ago)
    return "slurm", at, None if waited is None else at + timedelta(seconds=waited)


@pytest.mark.parametrize(
    ("attempts", "expected"),
    [
        ([], None),
        ([given(100, 3)], 3.0),
        ([given(100, 1), given(200, 60), given(300, 50)], 50.0),
        ([given(90, None)], 90.0),
        ([given(5, None), given(60, None), given(300, 2)], 5.0),
        ([given(1, 0)] * 10 + [given(900, 800)] * 20, 0.0),
    ],
)
def test_engine_waits(attempts: list[tuple[str, datetime, datetime | None]], expected: float | None) -> None:
    assert engine_waits(attempts, NOON).get("slurm") == expected
