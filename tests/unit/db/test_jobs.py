from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy.exc import IntegrityError

from millpond.db import jobs, lineage, projects
from millpond.db.engine import Database
from millpond.db.jobs import JobFilter
from millpond.model.dataset import DatasetKind
from millpond.model.job import Job, JobState
from millpond.model.job_spec import JobInput
from millpond.model.people import Project
from millpond.testing.builders_work import add_commit, add_job
from millpond.testing.clock import NOON


@pytest.fixture(autouse=True)
def project(db: Database) -> Project:
    project = Project("project1", "default", "", NOON)
    with db.write() as tx:
        projects.insert(tx, project)
        projects.insert(tx, Project("project2", "other", "", NOON))
    return project


def test_a_job_comes_back_as_it_was_put_in(db: Database) -> None:
    commit = add_commit(db)
    job = add_job(
        db,
        command=("python", "train.py"),
        env={"EPOCHS": "3"},
        cpu=2,
        memory_bytes=10**9,
        gpu_hundredths=150,
        inputs=(JobInput("default/xray", "main", commit, "dataset1", "MILL_DATA_XRAY"),),
        code_commit=commit,
    )
    with db.read() as tx:
        assert jobs.get(tx, job.id) == job


def test_a_saved_change_is_read_back(db: Database) -> None:
    job = add_job(db)
    with db.write() as tx:
        found = jobs.lock(tx, job.id)
        assert found is not None
        changed = found.changed(state=JobState.RUNNING, reasons=("because",), started_at=NOON, node="n1")
        jobs.save(tx, changed)
    with db.read() as tx:
        assert jobs.get(tx, job.id) == changed


def test_a_name_is_taken_until_its_job_has_ended(db: Database) -> None:
    first = add_job(db, name="train")
    with pytest.raises(IntegrityError):
        add_job(db, name="train", number=2)
    add_job(db, name="train", project="other")
    end(db, first)
    second = add_job(db, name="train", number=2)
    with db.read() as tx:
        assert jobs.holder(tx, "project1", "train") == second
        assert jobs.newest_number(tx, "project1", "train") == 2
        assert jobs.newest_number(tx, "project1", "never") == 0
        assert jobs.newest_numbers(tx, [first]) == {("project1", "train"): 2}


def test_found_by_number_and_newest(db: Database) -> None:
    first = end(db, add_job(db, name="train"))
    second = end(db, add_job(db, name="train", number=2))
    with db.read() as tx:
        assert jobs.find_numbered(tx, "project1", "train", None) == second
        assert jobs.find_numbered(tx, "project1", "train", 1) == first
        assert jobs.find_numbered(tx, "project1", "train", 3) is None
        assert jobs.find_numbered(tx, "project2", "train", None) is None


def test_one_in_the_bin_is_the_last_to_be_meant_by_a_name(db: Database) -> None:
    first = end(db, add_job(db, name="train"))
    second = end(db, add_job(db, name="train", number=2), deleted_at=NOON)
    with db.read() as tx:
        assert jobs.find_numbered(tx, "project1", "train", None) == first
        assert jobs.find_numbered(tx, "project1", "train", 2) == second


def test_an_id_may_be_shortened(db: Database) -> None:
    add_job(db, id="aaaa1111", name="a")
    add_job(db, id="aaaa2222", name="b")
    with db.read() as tx:
        assert [job.id for job in jobs.find_by_prefix(tx, "project1", "aaaa1")] == ["aaaa1111"]
        assert len(jobs.find_by_prefix(tx, "project1", "aaaa")) == 2
        assert jobs.find_by_prefix(tx, "project1", "a%") == []
        assert jobs.find_by_prefix(tx, "project2", "aaaa") == []


def test_pages_are_newest_first_and_lose_nothing(db: Database) -> None:
    same_moment = [add_job(db, name=f"job-{n}") for n in range(5)]
    newest = add_job(db, name="newest", queued_at=NOON + timedelta(seconds=1))
    with db.read() as tx:
        first = jobs.page(tx, JobFilter(), limit=3)
        last = first[-1]
        rest = jobs.page(tx, JobFilter(), limit=10, before=(last.queued_at, last.id))
    assert first[0] == newest
    assert {job.id for job in [*first, *rest]} == {job.id for job in [newest, *same_moment]}
    assert len(first) + len(rest) == 6


def test_filters(db: Database) -> None:
    running = add_job(db, name="a", state=JobState.RUNNING, created_by="jonas")
    binned = end(db, add_job(db, name="b"), deleted_at=NOON)
    elsewhere = add_job(db, name="c", project="other")

    def ids(chosen: JobFilter) -> set[str]:
        with db.read() as tx:
            assert jobs.count(tx, chosen) == len(jobs.page(tx, chosen, limit=10))
            return {job.id for job in jobs.page(tx, chosen, limit=10)}

    assert ids(JobFilter()) == {running.id, elsewhere.id}
    assert ids(JobFilter(deleted=True)) == {binned.id}
    assert ids(JobFilter(projects=["project1"])) == {running.id}
    assert ids(JobFilter(projects=[])) == set()
    assert ids(JobFilter(states=[JobState.RUNNING])) == {running.id}
    assert ids(JobFilter(created_by="jonas")) == {running.id}


def test_the_queue_is_in_the_order_of_queueing(db: Database) -> None:
    late = add_job(db, name="late", queued_at=NOON + timedelta(seconds=1))
    early = add_job(db, name="early")
    add_job(db, name="placed", state=JobState.PLACED)
    with db.read() as tx:
        assert [job.id for job in jobs.queued(tx)] == [early.id, late.id]


def test_what_is_looked_after_is_found(db: Database) -> None:
    add_job(db, name="queued")
    add_job(db, name="placed", state=JobState.PLACED)
    add_job(db, name="filled", state=JobState.PREPARING, filled_at=NOON)
    add_job(db, name="limited", state=JobState.RUNNING, filled_at=NOON, started_at=NOON, timeout_seconds=60)
    add_job(db, name="unlimited", state=JobState.RUNNING, filled_at=NOON, started_at=NOON)
    add_job(db, name="ended", state=JobState.FAILED, started_at=NOON, ended_at=NOON, timeout_seconds=60)
    with db.read() as tx:
        assert [job.name for job in jobs.unfilled(tx)] == ["placed"]
        assert [job.name for job in jobs.with_time_limit(tx)] == ["limited"]


def test_a_commit_in_use_is_known(db: Database) -> None:
    output = add_commit(db, ".outputs", kind=DatasetKind.OUTPUT)
    maker = add_job(db, name="maker", output_commit=output)
    with db.read() as tx:
        assert not lineage.is_used(tx, output, besides=maker.id)
    add_commit(db, "derived", lineage={"inputs": [f"default/.outputs@{output}"]})
    with db.read() as tx:
        assert lineage.is_used(tx, output, besides=maker.id)


def test_a_commit_another_job_reads_is_in_use(db: Database) -> None:
    output = add_commit(db, ".outputs", kind=DatasetKind.OUTPUT)
    maker = add_job(db, name="maker", output_commit=output)
    add_job(db, name="reader", inputs=(JobInput("default/.outputs", "x", output, "d", "MILL_DATA_OUTPUTS"),))
    with db.read() as tx:
        assert lineage.is_used(tx, output, besides=maker.id)


def end(db: Database, job: Job, **changes: object) -> Job:
    ended = job.changed(state=JobState.SUCCEEDED, ended_at=NOON, **changes)  # type: ignore[arg-type]
    with db.write() as tx:
        jobs.save(tx, ended)
    return ended
