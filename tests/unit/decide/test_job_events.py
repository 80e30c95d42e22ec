"""What happened to a job, told from its times and those of its attempts."""

from __future__ import annotations

from datetime import timedelta

from millpond.decide.job_events import JobEvent, job_events
from millpond.model.job import Ending, JobState, Placement, PlacementState
from millpond.testing.builders_work import a_job
from millpond.testing.clock import NOON


def at(minutes: int) -> object:
    return NOON + timedelta(minutes=minutes)


def an_attempt(number: int, begin: int, **changes: object) -> Placement:
    return Placement(
        id=f"p{number}", job_id="j", compute_id="c1", agent_id="a1", state=PlacementState.FINISHED,
        valid_seconds=600, gpu_indices=(), created_at=at(begin), renewed_at=at(begin), number=number,
        **{"ended_at": at(begin + 3), "node": "n1"} | changes,
    )  # type: ignore[arg-type]  # fmt: skip


def test_attempts_and_the_end_are_told_in_order() -> None:
    job = a_job(queued_at=NOON, state=JobState.FAILED, ended_at=at(20), problem="exit code 2", deleted_at=at(30))
    lost = an_attempt(1, 1, ending=Ending.LOST, problem="Its machine restarted.")
    failed = an_attempt(2, 10, started_at=at(11), exited_at=at(19), exit_code=2, ending=Ending.EXIT)
    assert job_events(job, [lost, failed], {"c1": "hpc"}) == [
        JobEvent(at(0), "Submitted by maria"),
        JobEvent(at(1), "Placed on hpc (n1)", attempt=1),
        JobEvent(at(4), "Attempt ended: lost", "Its machine restarted.", 1),
        JobEvent(at(10), "Placed on hpc (n1)", attempt=2),
        JobEvent(at(11), "Command started", attempt=2),
        JobEvent(at(19), "Attempt ended: exit code 2", None, 2),
        JobEvent(at(20), "Failed", "exit code 2"),
        JobEvent(at(30), "Moved to the bin"),
    ]


def test_a_job_that_waits_for_its_retry_and_one_that_is_being_stopped() -> None:
    waiting = a_job(queued_at=NOON, not_before=at(5))
    assert [event.what for event in job_events(waiting, [], {})] == ["Submitted by maria", "Retry"]
    stopping = a_job(queued_at=NOON, state=JobState.RUNNING, stop_requested_at=at(2))
    assert job_events(stopping, [an_attempt(1, 1, ended_at=None, node="hpc")], {"c1": "hpc"})[1:] == [
        JobEvent(at(1), "Placed on hpc", attempt=1),
        JobEvent(at(2), "Stop requested"),
    ]
