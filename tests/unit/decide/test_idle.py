"""Interactive jobs that nobody uses are stopped, and no others."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from millpond.decide.idle import idle_too_long
from millpond.model.job import Job, JobState
from millpond.testing.builders_work import a_job
from millpond.testing.clock import NOON

HOUR = timedelta(hours=1)
RUNNING = replace(a_job(), state=JobState.RUNNING, queued_at=NOON, started_at=NOON, idle_seconds=3600)


@pytest.mark.parametrize(
    ("job", "after", "stopped"),
    [
        (RUNNING, HOUR, False),
        (RUNNING, HOUR * 1.01, True),
        (replace(RUNNING, used_at=NOON + HOUR), HOUR * 1.5, False),
        (replace(RUNNING, used_at=NOON + HOUR), HOUR * 2.1, True),
        (replace(RUNNING, idle_seconds=0), HOUR * 100, False),
        (replace(RUNNING, state=JobState.PREPARING), HOUR * 2, False),
        (replace(RUNNING, stop_requested_at=NOON), HOUR * 2, False),
    ],
)
def test_idle(job: Job, after: timedelta, stopped: bool) -> None:
    assert idle_too_long(job, NOON + after) is stopped
