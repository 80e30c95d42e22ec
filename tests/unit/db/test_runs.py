from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from millpond.db import artifacts, metrics, projects, run_values, runs, usage
from millpond.db.engine import Database
from millpond.db.runs import RunFilter
from millpond.model.people import Project
from millpond.model.run import ParamChange, RunRecord, RunState, UsageSample
from millpond.model.series import Points
from millpond.model.tree import Entry, Kind
from millpond.testing.builders_work import a_run, add_job
from millpond.testing.clock import NOON


@pytest.fixture(autouse=True)
def run(db: Database) -> None:
    with db.write() as tx:
        projects.insert(tx, Project("project1", "default", "", NOON))
        runs.insert(tx, a_run())


def test_a_run_comes_back_as_it_was_put_in(db: Database) -> None:
    run = a_run(id="other000", parent_id="run00001")
    with db.write() as tx:
        runs.insert(tx, run)
    with db.read() as tx:
        assert runs.get(tx, "other000") == run


def test_a_batch_counts_once_per_writer(db: Database) -> None:
    with db.write() as tx:
        assert runs.take_sequence(tx, "run00001", "one", 0)
        assert not runs.take_sequence(tx, "run00001", "one", 0)
        assert runs.take_sequence(tx, "run00001", "two", 0)
        assert runs.take_sequence(tx, "run00001", "one", 5)
        assert not runs.take_sequence(tx, "run00001", "one", 3)


def test_records_of_several_runs_come_without_their_origin(db: Database) -> None:
    inputs, outputs = ({"name": "x", "digest": "d"},), ({"model_id": "m"},)
    record = RunRecord(notes="why", origin={"host": "a"}, inputs=inputs, outputs=outputs)
    with db.write() as tx:
        runs.insert(tx, a_run(id="other000"))
        runs.insert(tx, a_run(id="empty000"))
        runs.save_record(tx, "run00001", record)
        runs.save_record(tx, "other000", RunRecord())
    with db.read() as tx:
        found = runs.records(tx, ["run00001", "other000", "empty000"])
    assert found == {"run00001": replace(record, origin={}), "other000": RunRecord()}


def test_silent_scripts_are_found_and_jobs_are_not(db: Database) -> None:
    with db.write() as tx:
        runs.insert(tx, a_run(id="talking0", seen_at=NOON + timedelta(minutes=5)))
        runs.insert(tx, a_run(id="ended000", state=RunState.FAILED))
        runs.insert(tx, a_run(id="ofajob00", job_id="job00001"))
    with db.read() as tx:
        assert runs.silent_since(tx, NOON + timedelta(minutes=1), limit=10) == ["run00001"]


def test_lists_are_newest_first_and_filtered(db: Database) -> None:
    with db.write() as tx:
        runs.insert(tx, a_run(id="newer000", started_at=NOON + timedelta(minutes=1), experiment="sweep"))
        runs.insert(tx, a_run(id="binned00", deleted_at=NOON))
    with db.read() as tx:
        assert [run.id for run in runs.page(tx, RunFilter(), limit=10)] == ["newer000", "run00001"]
        assert [run.id for run in runs.page(tx, RunFilter(experiments=["sweep"]), limit=10)] == ["newer000"]
        assert [run.id for run in runs.page(tx, RunFilter(deleted=True), limit=10)] == ["binned00"]
        assert runs.page(tx, RunFilter(projects=[]), limit=10) == []
        behind = runs.page(tx, RunFilter(), limit=10, before=(NOON + timedelta(minutes=1), "newer000"))
        assert [run.id for run in behind] == ["run00001"]


def test_deleting_a_run_takes_everything_of_it_along(db: Database) -> None:
    with db.write() as tx:
        metrics.add(tx, a_run(), {"loss": Points.of([1], [0.5], [0])})
        metrics.fold(tx, "run00001")
        metrics.add(tx, a_run(), {"loss": Points.of([2], [0.5], [0])})
        run_values.set_params(tx, a_run(), {"lr": 1}, NOON)
        run_values.set_tags(tx, a_run(), {"a": "b"})
        runs.save_record(tx, "run00001", RunRecord(notes="x"))
        runs.take_sequence(tx, "run00001", "one", 0)
        artifacts.stage(tx, "run00001", [Entry(b"a", Kind.FILE)], owner="user:u", now=NOON)
        runs.delete(tx, "run00001")
    with db.read() as tx:
        assert runs.get(tx, "run00001") is None
        assert metrics.of_runs(tx, ["run00001"]) == []
        assert run_values.params(tx, ["run00001"]) == {"run00001": {}}
        assert not artifacts.is_waiting(tx, "run00001")


def test_a_sample_of_the_same_moment_counts_once(db: Database) -> None:
    job = add_job(db)
    sample = UsageSample(NOON, 50.0, 10**9, 1, 2)
    with db.write() as tx:
        usage.add(tx, job.id, [sample])
        usage.add(tx, job.id, [replace(sample, cpu_percent=99.0), replace(sample, at=NOON + timedelta(seconds=2))])
        usage.add(tx, job.id, [])
    with db.read() as tx:
        assert usage.of_job(tx, job.id, most=10) == [sample, replace(sample, at=NOON + timedelta(seconds=2))]


def test_parameters_come_back_as_they_were_and_remember_what_they_had(db: Database) -> None:
    values = {"lr": 0.1, "text": "0.1", "flag": True, "none": None, "layers": [1, {"a": 2}], "long": "x" * 1000}
    with db.write() as tx:
        run_values.set_params(tx, a_run(), values, NOON)
        run_values.set_params(tx, a_run(), {"lr": 0.2, "text": "0.1"}, NOON)
    with db.read() as tx:
        assert run_values.params(tx, ["run00001"])["run00001"] == values | {"lr": 0.2}
        assert run_values.params(tx, ["run00001"], ["flag"])["run00001"] == {"flag": True}
        assert run_values.param_changes(tx, "run00001") == {"lr": (ParamChange(0.1, NOON.isoformat()),)}


def test_tags_are_set_changed_and_removed(db: Database) -> None:
    with db.write() as tx:
        run_values.set_tags(tx, a_run(), {"a": "1", "b": "2"})
        run_values.set_tags(tx, a_run(), {"b": "3"})
        run_values.remove_tags(tx, "run00001", ["a"])
    with db.read() as tx:
        assert run_values.tags(tx, ["run00001"]) == {"run00001": {"b": "3"}}


def test_a_record_comes_back(db: Database) -> None:
    record = RunRecord("why", {"host": "a", "git": {"commit": "b"}}, ({"name": "x"},))
    with db.write() as tx:
        assert runs.record(tx, "run00001") == RunRecord()
        runs.save_record(tx, "run00001", record)
    with db.read() as tx:
        assert runs.record(tx, "run00001") == record
