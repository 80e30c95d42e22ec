from __future__ import annotations

import math
from dataclasses import replace
from datetime import timedelta

import pytest

from millpond.db import artifacts, metrics, projects, runs, usage
from millpond.db.engine import Database
from millpond.db.metrics import StoredPoint
from millpond.db.runs import RunFilter
from millpond.model.people import Project
from millpond.model.run import MetricPoint, RunState, UsageSample
from millpond.model.tree import Entry, Kind
from millpond.testing.builders_work import a_run, add_job
from millpond.testing.clock import NOON


@pytest.fixture(autouse=True)
def run(db: Database) -> None:
    with db.write() as tx:
        projects.insert(tx, Project("project1", "default", "", NOON))
        runs.insert(tx, a_run())


def test_a_run_comes_back_as_it_was_put_in(db: Database) -> None:
    run = a_run(id="other000", params={"lr": 0.1, "layers": [1, 2]}, tags={"team": "blue"})
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


def test_points_come_back_by_step(db: Database) -> None:
    with db.write() as tx:
        metrics.add(tx, "run00001", [MetricPoint("loss", 2, 0.5, NOON), MetricPoint("loss", 1, 0.9, NOON)])
        metrics.add(tx, "run00001", [MetricPoint("loss", 3, math.nan, NOON), MetricPoint("acc", 1, 0.1, NOON)])
    with db.read() as tx:
        assert metrics.keys(tx, "run00001") == ["acc", "loss"]
        assert metrics.points(tx, "run00001", "loss") == [
            StoredPoint(1, 0.9, NOON),
            StoredPoint(2, 0.5, NOON),
            StoredPoint(3, None, NOON),
        ]


def test_the_newest_value_is_that_of_the_greatest_step(db: Database) -> None:
    with db.write() as tx:
        metrics.add(tx, "run00001", [MetricPoint("loss", 5, 0.2, NOON), MetricPoint("loss", 4, 0.3, NOON)])
        metrics.add(tx, "run00001", [MetricPoint("loss", 1, 0.9, NOON)])
        metrics.add(tx, "run00001", [MetricPoint("flat", 0, 1.0, NOON), MetricPoint("flat", 0, 2.0, NOON)])
        metrics.add(tx, "run00001", [MetricPoint("broken", 0, math.inf, NOON)])
    with db.read() as tx:
        assert metrics.newest(tx, ["run00001", "nobody"]) == {"run00001": {"flat": 2.0, "loss": 0.2}, "nobody": {}}


def test_a_thousand_points_at_once(db: Database) -> None:
    with db.write() as tx:
        metrics.add(tx, "run00001", [MetricPoint("loss", n, float(n), NOON) for n in range(1000)])
    with db.read() as tx:
        assert len(metrics.points(tx, "run00001", "loss")) == 1000


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
        assert [run.id for run in runs.page(tx, RunFilter(experiment="sweep"), limit=10)] == ["newer000"]
        assert [run.id for run in runs.page(tx, RunFilter(deleted=True), limit=10)] == ["binned00"]
        assert runs.page(tx, RunFilter(projects=[]), limit=10) == []
        behind = runs.page(tx, RunFilter(), limit=10, before=(NOON + timedelta(minutes=1), "newer000"))
        assert [run.id for run in behind] == ["run00001"]


def test_deleting_a_run_takes_everything_of_it_along(db: Database) -> None:
    with db.write() as tx:
        metrics.add(tx, "run00001", [MetricPoint("loss", 1, 0.5, NOON)])
        runs.take_sequence(tx, "run00001", "one", 0)
        artifacts.stage(tx, "run00001", [Entry(b"a", Kind.FILE)], owner="user:u", now=NOON)
        runs.delete(tx, "run00001")
    with db.read() as tx:
        assert runs.get(tx, "run00001") is None
        assert metrics.keys(tx, "run00001") == []
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
