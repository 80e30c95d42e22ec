"""Packages of jobs: built once, found again by content, on a database with a played agent."""

from __future__ import annotations

from millpond.model.dataset import DatasetKind
from millpond.model.job import Job, JobState
from millpond.model.job_spec import JobKind
from millpond.services.jobs import jobs
from millpond.testing.builders_work import GB, add_commit
from millpond.wire.observed import PlacementSeen
from tests.unit.services.world import World


def source(world: World) -> str:
    return add_commit(world.deps.db, ".code", kind=DatasetKind.CODE)


def the_build(world: World, job: Job) -> Job:
    build = world.job(world.job(job.id).status.environment_job or "")
    assert build.spec.kind is JobKind.ENVIRONMENT
    return build


def finish(world: World, job: Job, **told: object) -> None:
    """The agent has run it, and what it made is in the lake."""
    world.fill_all()
    world.schedule()
    placement = world.job(job.id).status.placement_id or ""
    now = world.clock.now()
    seen = {"started_at": now, "exited_at": now, "exit_code": 0, **told}
    world.sync(PlacementSeen(id=placement, state="finished", **seen))  # type: ignore[arg-type]


def test_a_build_reserves_the_memory_of_its_job_within_reason(world: World) -> None:
    """Slurm gives a job that asks for none what its administrator thought enough, and kills it beyond that."""
    for asked, reserved in ((0, 0), (2 * GB, 2 * GB), (16 * GB, 4 << 30)):
        job = world.submit(f"job-{asked}", environment=source(world), memory_bytes=asked)
        world.schedule()
        assert the_build(world, job).spec.memory_bytes == reserved


def test_many_ask_one_builds_and_all_get_it(world: World) -> None:
    wanted = source(world)
    first, second = (world.submit(name, environment=wanted) for name in ("first", "second"))
    world.schedule()
    world.schedule()
    build = the_build(world, first)
    assert the_build(world, second) == build
    assert "Its environment is being built by environment-" in world.why(second.id)[-1]
    world.clock.advance(30)
    made = add_commit(world.deps.db, ".outputs", kind=DatasetKind.OUTPUT)
    finish(world, build, output_commit=made)
    world.schedule()
    for job in (first, second):
        placed = world.job(job.id)
        assert (placed.status.state, placed.status.environment_commit) == (JobState.PLACED, made)
    world.fill_all()
    (desired, _) = world.sync().placements
    assert desired.environment is not None and desired.environment.ready
    assert (desired.environment.env, desired.environment.commit_id) == ("MILL_ENVIRONMENT", made)
    ledger = jobs.get(world.deps, world.project, first.id).ledger
    assert (round(ledger.queue or 0), round(ledger.environment or 0)) == (0, 30)

    third = world.submit("third", environment=wanted)
    world.schedule()
    again = world.job(third.id)
    assert (again.status.state, again.status.environment_job, again.status.environment_at) == (
        JobState.PLACED,
        build.id,
        None,
    )


def test_a_build_that_fails_fails_those_that_waited_and_the_next_tries_anew(world: World) -> None:
    wanted = source(world)
    first, second = (world.submit(name, environment=wanted) for name in ("first", "second"))
    world.schedule()
    build = the_build(world, first)
    finish(world, build, exit_code=1)
    world.schedule()
    for job in (first, second):
        failed = world.job(job.id)
        assert failed.status.state is JobState.FAILED
        assert f"Its environment could not be built. See: mill logs {build.id}" == failed.status.problem
    world.clock.advance(1)
    third = world.submit("third", environment=wanted)
    world.schedule()
    assert the_build(world, third).number == 2


def test_other_packages_are_another_build(world: World) -> None:
    first = world.submit("first", environment=source(world))
    second = world.submit("second", environment=source(world))
    world.schedule()
    assert the_build(world, first).id != the_build(world, second).id


def test_a_large_environment_is_fetched_before_the_job_takes_room(world: World) -> None:
    job = world.submit("train", environment=source(world), cpu=4)
    world.schedule()
    world.schedule()
    made = add_commit(world.deps.db, ".outputs", kind=DatasetKind.OUTPUT, size=20 * GB)
    finish(world, the_build(world, job), output_commit=made)
    world.schedule()
    assert (world.job(job.id).status.state, world.job(job.id).status.rule) == (JobState.QUEUED, "locality")
    assert "its environment is fetched to local" in world.why(job.id)[-1]
    other = world.submit("other", cpu=4)
    world.schedule()
    assert world.job(other.id).status.state is JobState.PLACED, "its room is not held through the fill"
    jobs.stop(world.deps, world.maria, world.project, other.id)
    world.sync(PlacementSeen(id=world.job(other.id).status.placement_id or "", state="finished", exit_code=0))
    world.fill_all()
    world.schedule()
    placed = world.job(job.id)
    assert (placed.status.state, placed.status.environment_commit) == (JobState.PLACED, made)
