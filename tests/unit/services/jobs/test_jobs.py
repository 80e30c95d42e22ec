from __future__ import annotations

import pytest

from millpond.db.jobs import JobFilter
from millpond.errors import BadRequest, NotFound
from millpond.model.job import Job, JobState
from millpond.model.job_spec import JobKind
from millpond.model.people import SYSTEM, Role
from millpond.model.run import RunState
from millpond.services.jobs import jobs
from millpond.services.jobs.jobs import JobView
from millpond.services.people import audit, projects
from millpond.testing.builders_work import add_job
from millpond.wire.observed import PlacementSeen
from tests.unit.services.world import World


def get(world: World, text: str) -> JobView:
    return jobs.get(world.deps, world.project, text)


def listed(world: World, **chosen: object) -> list[str]:
    paging = {
        name: chosen.pop(name, default) for name, default in (("project", None), ("limit", 100), ("cursor", None))
    }
    found = jobs.list_jobs(world.deps, world.maria, JobFilter(**chosen), **paging)  # type: ignore[arg-type]
    return [view.written for view in found.items]


def stop(world: World, text: str) -> Job:
    return jobs.stop(world.deps, world.maria, world.project, text).job


def test_a_job_is_found_by_id_name_number_and_beginning(world: World) -> None:
    first = world.submit("train")
    stop(world, "train")
    second = world.submit("train")
    assert get(world, "train").job.id == second.id
    assert get(world, "train#1").job.id == get(world, first.id).job.id == first.id
    assert get(world, second.id[:6]).job.id == second.id
    assert (get(world, "train#1").written, get(world, "train").written) == ("train#1", "train")


def test_a_name_goes_before_the_beginning_of_an_id(world: World) -> None:
    add_job(world.deps.db, id="abcd1234", name="other")
    named = add_job(world.deps.db, id="zzzz0000", name="abcd")
    assert get(world, "abcd").job.id == named.id
    assert get(world, "abcd1").job.id == "abcd1234"


@pytest.mark.parametrize("text", ["tarin", "train#9", "train#x", "Train", "../train"])
def test_the_nearest_names_are_told(world: World, text: str) -> None:
    world.submit("train")
    with pytest.raises(NotFound) as caught:
        get(world, text)
    assert caught.value.details["near"] == ["train"]


@pytest.mark.parametrize("text", ["no such", "", "größe", "a/b"])
def test_what_is_not_there_is_not_found(world: World, text: str) -> None:
    world.submit("train")
    with pytest.raises(NotFound, match="No job"):
        get(world, text)


def test_an_ambiguous_beginning_is_asked_back(world: World) -> None:
    add_job(world.deps.db, id="aaaa1111", name="a")
    add_job(world.deps.db, id="aaaa2222", name="b")
    with pytest.raises(BadRequest, match="aaaa1111, aaaa2222"):
        get(world, "aaaa")


def test_a_job_of_another_project_is_not_found_even_by_its_id(world: World) -> None:
    projects.create(world.deps, SYSTEM, name="other")
    hidden = add_job(world.deps.db, project="other")
    with pytest.raises(NotFound):
        get(world, hidden.id)
    assert hidden.name not in listed(world)


def test_a_queued_job_is_cancelled_at_once(world: World) -> None:
    job = world.submit("train")
    stopped = stop(world, "train")
    assert (stopped.status.state, stopped.status.reasons[-1]) == (
        JobState.CANCELLED,
        "Stopped by maria before it was placed.",
    )
    assert world.run(job.run_id).state is RunState.CANCELLED
    assert stop(world, "train") == stopped
    world.schedule()
    assert world.sync().placements == []


def test_deleting_puts_job_and_run_into_the_bin_and_undelete_brings_them_back(world: World) -> None:
    job = world.submit("train")
    jobs.delete(world.deps, world.maria, world.project, "train")
    assert (listed(world), listed(world, deleted=True)) == ([], ["train"])
    assert world.run(job.run_id).deleted_at == world.clock.now()
    assert world.job(job.id).status.state is JobState.CANCELLED
    jobs.undelete(world.deps, world.maria, world.project, "train")
    assert (listed(world), listed(world, deleted=True)) == (["train"], [])
    assert world.run(job.run_id).deleted_at is None


def test_a_running_job_that_is_deleted_ends_first(world: World) -> None:
    job, desired = world.placed()
    running = PlacementSeen(id=desired.id, state="running", started_at=world.clock.now())
    world.sync(running)
    jobs.delete(world.deps, world.maria, world.project, "train")
    assert world.job(job.id).status.state is JobState.RUNNING
    assert [placement.want for placement in world.sync(running).placements] == ["stop"]
    world.sync(PlacementSeen(id=desired.id, state="finished", started_at=world.clock.now(), exit_code=0))
    assert world.job(job.id).status.state is JobState.CANCELLED
    assert listed(world, deleted=True) == ["train"]


def test_undelete_ends_with_the_bins_time(world: World) -> None:
    world.submit("train")
    jobs.delete(world.deps, world.maria, world.project, "train")
    world.clock.advance(31 * 86_400)
    with pytest.raises(NotFound, match="more than 30 days"):
        jobs.undelete(world.deps, world.maria, world.project, "train")


def test_lists_are_newest_first_filtered_and_paged(world: World) -> None:
    for name in ("a", "bolt", "c"):
        world.submit(name)
    stop(world, "a")
    assert listed(world) == ["c", "bolt", "a"]
    assert listed(world, states=[JobState.CANCELLED]) == ["a"]
    assert listed(world, project="default", created_by="maria") == ["c", "bolt", "a"]
    assert listed(world, created_by="jonas") == []
    # Letters that no id has.
    assert listed(world, text="OL") == ["bolt"]
    assert listed(world, text=world.job(get(world, "a").job.id).id[:4]) == ["a"]
    assert listed(world, text="%") == listed(world, kind=JobKind.ENVIRONMENT) == listed(world, compute="local") == []
    jonas = world.actor("jonas", Role.VIEWER)
    first = jobs.list_jobs(world.deps, jonas, JobFilter(), project=None, limit=2, cursor=None)
    assert [view.written for view in first.items] == ["c", "bolt"]
    assert listed(world, limit=2, cursor=first.next) == ["a"]
    with pytest.raises(BadRequest, match="is not a cursor"):
        listed(world, cursor="rubbish")


def test_someone_without_a_role_sees_nothing(world: World) -> None:
    world.submit("train")
    stranger = world.actor("stranger", None)
    found = jobs.list_jobs(world.deps, stranger, JobFilter(), project=None, limit=10, cursor=None)
    assert found.items == []
    with pytest.raises(NotFound):
        jobs.list_jobs(world.deps, stranger, JobFilter(), project="default", limit=10, cursor=None)


def test_who_did_what_is_kept(world: World) -> None:
    world.submit("train")
    jobs.delete(world.deps, world.maria, world.project, "train")
    jobs.undelete(world.deps, world.maria, world.project, "train")
    actions = [record.action for record in audit.list_records(world.deps, limit=100, cursor=None).items]
    assert actions[:3] == ["job.undelete", "job.delete", "job.submit"]
