from __future__ import annotations

import pytest

from millpond.db import commits, datasets, jobs
from millpond.model.dataset import DatasetKind
from millpond.model.job import Job
from millpond.services.jobs import bin
from millpond.services.jobs import jobs as job_service
from millpond.services.runs import artifacts, logs
from millpond.testing.builders_work import add_commit
from millpond.wire.observed import PlacementSeen
from tests.unit.services.world import World

DAY = 86_400


@pytest.fixture
def ended(world: World) -> Job:
    """A job that has a log, an artifact and an output, and lies in the bin."""
    job, desired = world.placed()
    output = add_commit(world.deps.db, ".outputs", branch=job.id, kind=DatasetKind.OUTPUT)
    logs.append(world.deps, world.agent.actor, desired.id, 0, b"done\n")
    artifacts.put(world.deps, world.maria, world.project, job.run_id, "model.bin", b"weights")
    now = world.clock.now()
    world.sync(
        PlacementSeen(id=desired.id, state="finished", started_at=now, exited_at=now, exit_code=0, output_commit=output)
    )
    job_service.delete(world.deps, world.maria, world.project, job.id)
    return world.job(job.id)


def purge(world: World, days: int) -> int:
    world.clock.advance(days * DAY)
    return bin.purge(world.deps, world.clock.now())


def has_output_branch(world: World, job: Job) -> bool:
    with world.deps.db.read() as tx:
        dataset = datasets.find(tx, job.project_id, ".outputs")
        assert dataset is not None
        return commits.find_ref(tx, dataset.id, job.id) is not None


def test_the_bin_keeps_everything_for_its_time(world: World, ended: Job) -> None:
    assert purge(world, 29) == 0
    job_service.undelete(world.deps, world.maria, world.project, ended.id)
    assert logs.read(world.deps, ended, 0, 10).data == b"done\n"
    file = artifacts.open_artifact(world.deps, world.maria, world.project, ended.run_id, "model.bin")
    assert b"".join(file.read(world.deps, 0, file.size)) == b"weights"
    assert purge(world, 31) == 0


def test_afterwards_all_of_it_is_gone(world: World, ended: Job) -> None:
    assert purge(world, 31) == 1
    with world.deps.db.read() as tx:
        assert jobs.get(tx, ended.id) is None
    assert list(world.deps.settings.logs_dir.rglob("*.log")) == []
    assert not has_output_branch(world, ended)
    assert purge(world, 1) == 0


def test_outputs_that_another_job_reads_stay(world: World, ended: Job) -> None:
    world.submit("reader", inputs=[f".outputs@{ended.id}"])
    assert purge(world, 31) == 1
    assert has_output_branch(world, ended)


def test_outputs_that_something_was_made_from_stay(world: World, ended: Job) -> None:
    add_commit(world.deps.db, "derived", lineage={"inputs": [f"default/.outputs@{ended.status.output_commit}"]})
    assert purge(world, 31) == 1
    assert has_output_branch(world, ended)


def test_a_job_that_has_not_ended_is_not_purged(world: World) -> None:
    job, _ = world.placed()
    job_service.delete(world.deps, world.maria, world.project, job.id)
    assert purge(world, 31) == 0
    assert world.job(job.id).status.deleted_at is not None
