"""Jobs that are tried again, come after others and have limits, on a database."""

from __future__ import annotations

import pytest

from millpond.errors import Invalid, NotFound
from millpond.model.job import Ending, Job, JobState
from millpond.services.jobs import jobs
from millpond.testing.builders_work import add_agent
from millpond.wire.desired import DesiredPlacement
from millpond.wire.observed import PlacementSeen
from tests.unit.services.world import World


def end(world: World, placement: DesiredPlacement, **told: object) -> Job:
    """Its agent says that this attempt has ended so."""
    now = world.clock.now()
    seen = {"started_at": now, "exited_at": now, **told}
    world.sync(PlacementSeen(id=placement.id, state="finished", **seen))  # type: ignore[arg-type]
    return world.job(placement.job_id)


def place(world: World, job: Job) -> DesiredPlacement:
    world.sync()
    world.schedule()
    (found,) = [placement for placement in world.sync().placements if placement.job_id == job.id]
    return found


def test_a_failed_attempt_is_made_again_after_a_pause_and_each_is_remembered(world: World) -> None:
    job, first = world.placed(retries=2, backoff_seconds=7)
    after = end(world, first, exit_code=3)
    assert (after.status.state, after.status.retried, after.status.ending) == (JobState.QUEUED, 1, Ending.EXIT)
    assert after.status.reasons[-1] == "exit code 3; retrying in 7.0 s (retry 1 of 2)"
    world.schedule()
    assert world.why(job.id)[-1] == "Waiting: retry at 12:00:07 UTC."
    world.clock.advance(7)
    second = place(world, job)
    assert second.token != first.token
    assert end(world, second, exit_code=0).status.state is JobState.SUCCEEDED
    shown = jobs.attempts(world.deps, world.project, job.id)
    told = [(a.placement.number, a.compute, a.placement.exit_code, a.placement.problem) for a in shown]
    assert told == [(1, "local", 3, "exit code 3"), (2, "local", 0, None)]
    assert all(a.placement.started_at and a.placement.exited_at and a.placement.ended_at for a in shown)
    view = jobs.get(world.deps, world.project, job.id)
    assert (view.ledger.earlier, view.ledger.total) == (0.0, 7.0)


def test_the_run_goes_on_until_the_last_attempt_has_ended(world: World) -> None:
    job, first = world.placed(retries=1, backoff_seconds=0)
    end(world, first, exit_code=1)
    assert world.run(job.run_id).ended_at is None
    assert end(world, place(world, job), exit_code=1).status.problem == "exit code 1, as before"
    assert world.run(job.run_id).ended_at is not None


def test_what_is_lost_with_its_machine_counts_as_no_retry(world: World) -> None:
    job, first = world.placed()
    after = end(world, first, reason="lost", problem="The machine restarted while the job ran.")
    assert (after.status.state, after.status.losses, after.status.retried) == (JobState.QUEUED, 1, 0)
    second = place(world, job)
    after = end(world, second, reason="expired", signal=15)
    assert (after.status.state, after.status.losses) == (JobState.QUEUED, 2)
    world.clock.advance(5)
    assert end(world, place(world, job), exit_code=0).status.state is JobState.SUCCEEDED


def test_a_job_that_waits_to_be_tried_again_can_be_stopped(world: World) -> None:
    job, first = world.placed(retries=5)
    end(world, first, exit_code=1)
    assert jobs.stop(world.deps, world.maria, world.project, job.id).job.status.state is JobState.CANCELLED


def test_a_job_begins_when_those_before_it_have_succeeded(world: World) -> None:
    first = world.submit("first")
    second = world.submit("second", after=["first"])
    last = world.submit("last", after=[f"{first.id}:any", "second:success"])
    world.schedule()
    assert [world.job(job.id).status.state for job in (first, second, last)] == [
        JobState.PLACED, JobState.QUEUED, JobState.QUEUED,
    ]  # fmt: skip
    assert "it depends on first" in world.why(second.id)[-1]
    end(world, world.sync().placements[0], exit_code=0)
    assert end(world, place(world, second), exit_code=0).status.state is JobState.SUCCEEDED
    place(world, last)


def test_a_job_that_failed_cancels_those_that_need_it_and_theirs(world: World) -> None:
    world.submit("first")
    second = world.submit("second", after=["first"])
    third = world.submit("third", after=["second"])
    whatever = world.submit("whatever", after=["first:any"])
    world.schedule()
    end(world, world.sync().placements[0], exit_code=3)
    world.schedule()
    assert world.job(second.id).status.state is JobState.CANCELLED
    assert "which had to succeed first, failed: exit code 3" in world.job(second.id).status.reasons[-1]
    assert world.job(third.id).status.state is JobState.CANCELLED
    assert world.job(whatever.id).status.state is JobState.PLACED


@pytest.mark.parametrize(("after", "error"), [("nothing", NotFound), ("first:failure", Invalid), ("self", NotFound)])
def test_what_no_job_can_come_after(world: World, after: str, error: type[Exception]) -> None:
    world.submit("first")
    with pytest.raises(error):
        world.submit("self", after=[after])


def test_a_higher_priority_goes_first(world: World) -> None:
    low, high = world.submit("low", cpu=4, priority=-1), world.submit("high", cpu=4, priority=5)
    world.schedule()
    assert (world.job(high.id).status.state, world.job(low.id).status.state) == (JobState.PLACED, JobState.QUEUED)


def test_a_job_runs_on_the_compute_it_names_and_nowhere_else(world: World) -> None:
    add_agent(world.deps.db, "lab", site="lab", cpus=2)
    job = world.submit("train", compute="lab")
    world.schedule()
    assert world.job(job.id).status.compute == "lab"
    second = world.submit("second", compute="lab", cpu=1)
    third = world.submit("third", compute="lab", cpu=2)
    world.schedule()
    assert world.job(second.id).status.compute == "lab"
    waiting = "Waiting: The job may only run on lab."
    assert waiting in world.why(third.id)
    with pytest.raises(NotFound):
        world.submit("else", compute="nowhere")


def test_the_agent_is_told_the_time_limit_and_the_server_keeps_it_too(world: World) -> None:
    _, desired = world.placed(timeout_seconds=60)
    assert desired.spec.timeout_seconds == 60
    started = world.clock.now()
    running = PlacementSeen(id=desired.id, state="running", started_at=started)
    world.sync(running)
    world.clock.advance(61)
    world.schedule()
    assert [placement.want for placement in world.sync(running).placements] == ["run"]
    world.clock.advance(60)
    world.schedule()
    assert [placement.want for placement in world.sync(running).placements] == ["stop"]
    after = end(world, desired, signal=15, reason="stopped")
    assert (after.status.state, after.status.ending) == (JobState.FAILED, Ending.TIMEOUT)
    assert after.status.problem == "exceeded its time limit of 1 m"


def test_why_tells_that_the_agent_of_a_job_is_silent_and_what_follows(world: World) -> None:
    job, placement = world.placed()
    world.sync(PlacementSeen(id=placement.id, state="running", started_at=world.clock.now()))
    assert "silent" not in " ".join(world.why(job.id))
    world.clock.advance(120)
    said = world.why(job.id)[-1]
    assert said.startswith("The agent of local has been silent for 2 m")
    assert "the job ends by itself and is placed again in about" in said
    assert "placements at site local last 10 m without word from the server" in said
