"""Suspending and resuming, in every state a job can be in."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from millpond.decide import job_life
from millpond.decide.job_life import Report
from millpond.errors import Conflict
from millpond.model.job import Ending, Job, JobState, PlacementState
from millpond.testing.builders_work import a_job, a_placed_job

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
LATER = NOON + timedelta(minutes=5)


def running(**status: Any) -> Job:
    job = job_life.observe(a_placed_job(), Report(PlacementState.RUNNING, started_at=NOON), NOON)
    return job.changed(**status)


def ended(job: Job, **report: Any) -> Job:
    return job_life.observe(job, Report(PlacementState.FINISHED, started_at=NOON, exited_at=LATER, **report), LATER)


def test_a_queued_job_is_held_until_it_is_resumed() -> None:
    held = job_life.suspend(job_life.wait(a_job(), ["no room."]), "ada", NOON)
    assert (held.status.state, held.status.reasons[-1]) == (JobState.SUSPENDED, "Suspended by ada.")
    assert job_life.suspend(held, "ben", LATER) == held
    again = job_life.resume(held, "ben", LATER)
    assert (again.status.state, again.status.reasons[-1]) == (JobState.QUEUED, "Resumed by ben.")
    assert again.queued_at == held.queued_at, "its place in line"


@pytest.mark.parametrize(
    "report",
    [{"exit_code": 7, "reason": "stopped"}, {"signal": 15, "reason": "stopped"}, {"exit_code": 0, "reason": "stopped"}],
)
def test_a_running_job_is_stopped_and_then_suspended(report: dict[str, Any]) -> None:
    job = job_life.suspend(running(), "ada", NOON)
    assert (job.status.state, job.status.stop_requested_at) == (JobState.RUNNING, NOON)
    after = ended(job, **report)
    assert (after.status.state, after.status.placement_id, after.status.ended_at) == (JobState.SUSPENDED, None, None)
    assert (after.status.ending, after.status.retried, after.status.losses) == (Ending.SUSPENDED, 0, 0)


def test_one_that_ended_well_before_it_was_told_has_succeeded() -> None:
    assert ended(job_life.suspend(running(), "ada", NOON), exit_code=0).status.state is JobState.SUCCEEDED


def test_resumed_while_it_is_being_stopped_it_is_queued_again() -> None:
    job = job_life.resume(job_life.suspend(running(), "ada", NOON), "ada", NOON)
    assert ended(job, signal=15, reason="stopped").status.state is JobState.QUEUED


def test_lost_while_it_is_being_stopped_it_is_suspended() -> None:
    job = job_life.suspend(running(), "ada", NOON)
    assert job_life.run_out(job, "Silent", LATER).status.state is JobState.SUSPENDED


def test_preempted_and_then_suspended_it_waits_to_be_resumed() -> None:
    job = job_life.suspend(job_life.preempt(running(), "claim", NOON), "ada", NOON)
    after = ended(job, signal=15, reason="stopped")
    assert (after.status.state, after.status.preemptions) == (JobState.SUSPENDED, 1)


def test_what_has_ended_or_is_being_stopped_cannot_be_suspended() -> None:
    with pytest.raises(Conflict, match="has ended: it is succeeded"):
        job_life.suspend(ended(running(), exit_code=0), "ada", LATER)
    with pytest.raises(Conflict, match="is being stopped"):
        job_life.suspend(job_life.request_stop(running(), "Stop requested.", NOON), "ada", LATER)
    with pytest.raises(Conflict, match="is not suspended: it is queued"):
        job_life.resume(a_job(), "ada", NOON)
