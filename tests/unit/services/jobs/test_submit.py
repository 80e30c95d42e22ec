from __future__ import annotations

import threading

import pytest

from millpond.db import computes
from millpond.db.jobs import JobFilter
from millpond.errors import BadName, BadRequest, DoesNotFit, Invalid, MillError, NameTaken, NotFound
from millpond.model.cached_state import CachedState
from millpond.model.dataset import DatasetKind
from millpond.model.job import JobState
from millpond.model.people import SYSTEM
from millpond.model.run import RunState
from millpond.services.jobs import jobs, submit
from millpond.services.people import projects
from millpond.testing.builders_work import GB, add_commit
from millpond.wire.jobs import JobCreate
from tests.unit.services.world import World


def test_a_job_is_queued_with_its_run(world: World) -> None:
    job = world.submit("train", command=("python", "train.py"), env={"EPOCHS": "3"}, experiment="sweep")
    assert (job.status.state, job.number, job.created_by) == (JobState.QUEUED, 1, "maria")
    assert world.job(job.id) == job
    run = world.run(job.run_id)
    assert (run.name, run.experiment, run.job_id, run.state) == ("train", "sweep", job.id, RunState.RUNNING)
    assert "schedule" in world.events.woken
    assert world.told("jobs")[-1] | {"id": job.id, "state": "queued"} == world.told("jobs")[-1]


def test_a_name_is_taken_while_its_job_has_not_ended(world: World) -> None:
    first = world.submit("train")
    with pytest.raises(NameTaken, match=rf"queued: {first.id}, submitted by maria") as caught:
        world.submit("train")
    assert caught.value.exit_code == 5
    assert (caught.value.details["id"], caught.value.details["state"]) == (first.id, "queued")
    jobs.stop(world.deps, world.maria, world.project, "train")
    assert world.submit("train").number == 2


def test_many_submitting_one_name_at_once_leave_one(world: World) -> None:
    results: list[object] = []

    def attempt() -> None:
        try:
            results.append(world.submit("train"))
        except NameTaken as error:
            results.append(error)

    threads = [threading.Thread(target=attempt) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(isinstance(result, NameTaken) for result in results) == 5


def test_without_a_name_one_is_made(world: World) -> None:
    names = {world.submit().name for _ in range(10)}
    assert len(names) == 10
    assert all(name.count("-") >= 1 for name in names)


@pytest.mark.parametrize(
    ("wanted", "error"),
    [
        ({"name": "My Job"}, BadName),
        ({"name": "../up"}, BadName),
        ({"name": "größe"}, BadName),
        ({"command": ("",)}, Invalid),
        ({"command": ("echo", "a\0b")}, Invalid),
        ({"env": {"1BAD": "x"}}, Invalid),
        ({"env": {"A=B": "x"}}, Invalid),
        ({"env": {"MILL_TOKEN": "mine"}}, Invalid),
        ({"env": {"MILL_ANY": "mine"}}, Invalid),
        ({"options": {"Partition": "long"}}, Invalid),
        ({"options": {"partition": "two words"}}, Invalid),
        ({"kind": "service"}, Invalid),
        ({"after": ["nothing:perhaps"]}, Invalid),
        ({"comand": ["true"]}, Invalid),
        ({"inputs": ["nothing-there"]}, NotFound),
        ({"inputs": ["xray:train/"]}, BadRequest),
        ({"inputs": ["xray@no-such-branch"]}, NotFound),
        ({"inputs": ["other-project/xray"]}, NotFound),
        ({"code_commit": "0" * 64}, NotFound),
    ],
)
def test_bad_requests_are_refused_and_leave_nothing(
    world: World, wanted: dict[str, object], error: type[MillError]
) -> None:
    add_commit(world.deps.db, "xray")
    with pytest.raises(error):
        world.submit(**wanted)  # type: ignore[arg-type]
    listing = jobs.list_jobs(world.deps, world.maria, JobFilter(), project=None, limit=10, cursor=None)
    assert listing.items == []


def test_inputs_are_fixed_to_commits(world: World) -> None:
    first = add_commit(world.deps.db, "x-ray")
    tagged = add_commit(world.deps.db, "labels", branch="v3")
    job = world.submit(inputs=["x-ray", "default/labels@v3"])
    add_commit(world.deps.db, "x-ray")
    found = [(item.ref, item.commit_id, item.env) for item in world.job(job.id).spec.inputs]
    assert found == [("main", first, "MILL_DATA_X_RAY"), ("v3", tagged, "MILL_DATA_LABELS")]


def test_two_inputs_of_one_variable_are_refused(world: World) -> None:
    add_commit(world.deps.db, "x-ray")
    add_commit(world.deps.db, "x.ray")
    with pytest.raises(BadRequest, match=r"default/x-ray and default/x.ray would both set \$MILL_DATA_X_RAY"):
        world.submit(inputs=["x-ray", "x.ray"])


def test_someone_elses_dataset_is_as_if_it_were_not_there(world: World) -> None:
    with pytest.raises(NotFound) as unknown:
        world.submit(inputs=["secret/scans"])
    projects.create(world.deps, SYSTEM, name="secret")
    add_commit(world.deps.db, "scans", project="secret")
    with pytest.raises(NotFound) as hidden:
        world.submit(inputs=["secret/scans"])
    assert (hidden.value.message, hidden.value.hint) == (unknown.value.message, unknown.value.hint)


def test_code_must_be_a_commit_of_the_projects_code(world: World) -> None:
    code = add_commit(world.deps.db, ".code", kind=DatasetKind.CODE)
    assert world.submit(code_commit=code).spec.code_commit == code
    with pytest.raises(NotFound):
        world.submit(code_commit=add_commit(world.deps.db, "xray"))


def test_gpus_that_nobody_has_are_refused_with_what_to_do(world: World) -> None:
    with pytest.raises(DoesNotFit, match="No node has a GPU") as caught:
        world.submit(gpu_hundredths=100)
    assert "mill up --gpus" in (caught.value.hint or "")
    world.forget_agents()
    assert world.submit(gpu_hundredths=100).status.state is JobState.QUEUED


def test_more_than_any_node_has_is_refused(world: World) -> None:
    with pytest.raises(DoesNotFit, match="No node has 64 CPUs: the largest, local, has 4 CPUs"):
        world.submit(cpu=64)
    with pytest.raises(DoesNotFit, match=r"17\.0 GB of memory"):
        world.submit(memory_bytes=17 * GB)
    world.forget_agents()
    assert world.submit(cpu=64).status.state is JobState.QUEUED


def test_an_image_needs_a_driver_with_containers(world: World) -> None:
    with pytest.raises(DoesNotFit, match="No compute can run container images"):
        world.submit(image="python:3.11")
    with world.deps.db.write() as tx:
        computes.change(tx, world.agent.agent.compute_id, capabilities={"containers": True})
    assert world.submit(image="python:3.11").spec.image == "python:3.11"


def test_data_is_on_its_way_before_the_job_is_placed_and_not_leased_yet(world: World) -> None:
    commit = add_commit(world.deps.db, "xray")
    world.submit(inputs=["xray"])
    fills = world.sync().fills
    assert [(fill.commit_id, fill.want) for fill in fills] == [(commit, "present")]
    assert world.leased() == {}
    world.schedule()
    assert world.leased() == {commit: CachedState.FILLING}


def test_no_room_for_the_data_does_not_refuse_the_job(world: World) -> None:
    add_commit(world.deps.db, "huge", size=200 * GB)
    assert world.submit(inputs=["huge"]).status.state is JobState.QUEUED


def test_names_are_kept_apart_by_project(world: World) -> None:
    other = projects.create(world.deps, SYSTEM, name="other")
    world.submit("train")
    job = submit.submit(world.deps, SYSTEM, other, JobCreate(name="train", command=["true"]))
    assert (job.project, job.number) == ("other", 1)
