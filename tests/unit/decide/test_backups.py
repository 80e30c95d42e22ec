from __future__ import annotations

from datetime import timedelta

import pytest

from millpond.decide.backups import health, is_due
from millpond.testing.clock import NOON

DAY, HOUR, MINUTE = timedelta(days=1), timedelta(hours=1), timedelta(minutes=1)


@pytest.mark.parametrize(
    ("every", "succeeded", "tried", "due"),
    [
        (DAY, None, None, True),
        (DAY, 23 * HOUR, 23 * HOUR, False),
        (DAY, 25 * HOUR, 25 * HOUR, True),
        # It failed a moment ago, and is tried again later.
        (DAY, 25 * HOUR, 5 * MINUTE, False),
        (DAY, 25 * HOUR, 31 * MINUTE, True),
        (DAY, None, 5 * MINUTE, False),
        # A short interval is not held up by the pause after a failure.
        (5 * MINUTE, 11 * MINUTE, 6 * MINUTE, True),
        (timedelta(), None, None, False),
    ],
)
def test_when_the_next_backup_is_due(
    every: timedelta, succeeded: timedelta | None, tried: timedelta | None, due: bool
) -> None:
    succeeded_at = NOON - succeeded if succeeded is not None else None
    tried_at = NOON - tried if tried is not None else None
    assert is_due(every, succeeded_at=succeeded_at, tried_at=tried_at, now=NOON) is due


@pytest.mark.parametrize(
    ("age", "running", "problem", "said"),
    [
        (47 * HOUR, 100 * DAY, None, None),
        (49 * HOUR, 100 * DAY, None, "The newest backup is 2 d 1 h old."),
        (49 * HOUR, 100 * DAY, "No space left.", "The newest backup is 2 d 1 h old: No space left."),
        # A server that has only just begun has no backup yet, and that is well.
        (None, HOUR, None, None),
        (None, 3 * DAY, None, "There is no backup yet."),
    ],
)
def test_a_backup_that_is_too_old_is_told(
    age: timedelta | None, running: timedelta, problem: str | None, said: str | None
) -> None:
    found = health(
        DAY,
        has_place=True,
        succeeded_at=None if age is None else NOON - age,
        running_since=NOON - running,
        last_problem=problem,
        now=NOON,
    )
    assert found.problem == said


def test_a_server_without_a_place_says_so_and_one_without_a_schedule_is_well() -> None:
    asked = {"succeeded_at": None, "running_since": NOON - 9 * DAY, "last_problem": None, "now": NOON}
    assert "no backups" in str(health(DAY, has_place=False, **asked).problem)  # type: ignore[arg-type]
    assert health(timedelta(), has_place=True, **asked).problem is None  # type: ignore[arg-type]
