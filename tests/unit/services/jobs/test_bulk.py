from __future__ import annotations

from millpond.errors import NotFound
from millpond.model.job import JobState
from millpond.services.jobs import bulk
from millpond.services.jobs.bulk import BulkChange, JobResult
from tests.unit.services.world import World


def change(world: World, what: BulkChange, *asked: str) -> list[JobResult]:
    return bulk.change(world.deps, world.maria, world.project, what, asked)


def test_each_is_changed_for_itself_and_told_in_order(world: World) -> None:
    one, two = world.submit("one"), world.submit("two")
    first, missing, second = change(world, BulkChange.STOP, "two", "three", one.id)
    assert (first.asked, first.view and first.view.job.id) == ("two", two.id)
    assert isinstance(missing.problem, NotFound)
    assert second.view is not None and second.view.job.status.state is JobState.CANCELLED
    assert [world.job(job.id).status.state for job in (one, two)] == [JobState.CANCELLED] * 2


def test_what_is_deleted_in_bulk_comes_back_in_bulk(world: World) -> None:
    jobs = [world.submit(f"job-{number}") for number in range(3)]
    ids = [job.id for job in jobs]
    assert all(outcome.view for outcome in change(world, BulkChange.DELETE, *ids))
    assert all(world.job(job_id).status.deleted_at for job_id in ids)
    assert all(world.run(job.run_id).deleted_at for job in jobs)
    change(world, BulkChange.UNDELETE, *ids)
    assert not any(world.job(job_id).status.deleted_at for job_id in ids)


def test_agents_and_scheduler_are_woken_once(world: World) -> None:
    for number in range(5):
        world.submit(f"job-{number}")
    world.events.woken.clear()
    change(world, BulkChange.STOP, *(f"job-{number}" for number in range(5)))
    assert world.events.woken.count("schedule") == 1
    assert len([data for data in world.told("jobs") if data["state"] == "cancelled"]) == 5


def test_asked_twice_is_done_once(world: World) -> None:
    world.submit("one")
    assert len(change(world, BulkChange.STOP, "one", "one")) == 1
    world.events.published.clear()
    (again,) = change(world, BulkChange.STOP, "one")
    assert again.view is not None
    assert world.told("jobs") == []
