"""Interactive jobs that nobody uses are stopped, and no others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from millpond.decide.idle import idle_too_long
from millpond.model.job import Job, JobState
from millpond.testing.builders_work import a_job
from millpond.testing.clock import NOON

HOUR = 3600.0
RUNNING = a_job(state=JobState.RUNNING, queued_at=NOON, started_at=NOON, idle_seconds=3600)


@pytest.mark.parametrize(
    ("job", "unused", "stopped"),
    [
        (RUNNING, HOUR, False),
        (RUNNING, HOUR * 1.01, True),
        (replace(RUNNING, spec=replace(RUNNING.spec, idle_seconds=0)), HOUR * 100, False),
        (RUNNING.changed(state=JobState.PREPARING), HOUR * 2, False),
        (RUNNING.changed(stop_requested_at=NOON), HOUR * 2, False),
    ],
)
def test_idle(job: Job, unused: float, stopped: bool) -> None:
    assert idle_too_long(job, unused) is stopped
