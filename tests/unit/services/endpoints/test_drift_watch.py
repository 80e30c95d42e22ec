"""Drift by schedule: one job for each window, whatever servers do at once, and what becomes of its report."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from millpond.api.metrics.endpoints import EndpointCollector
from millpond.db import audit, endpoint_analyses, jobs
from millpond.db import endpoints as rows
from millpond.errors import Conflict, Invalid
from millpond.model.endpoint_analysis import Analysis, AnalysisKind, AnalysisState
from millpond.model.job import Job
from millpond.model.names import OUTPUT_DATASET
from millpond.services import activity
from millpond.services.endpoints import analyses, drift_watch, endpoints
from millpond.services.endpoints.seen_drift import newest_drift
from millpond.services.endpoints.why import why
from millpond.services.flows.lake_files import commit_files
from millpond.services.runs import runs
from millpond.testing.builders_work import add_commit
from tests.unit.services.endpoints.test_endpoints import asked, create
from tests.unit.services.jobs.test_environments import finish
from tests.unit.services.world import World

LOG = {"level": "full", "to": "xray-requests@main", "every": "10m"}
DRIFT: dict[str, Any] = {"reference": "train@main:train.parquet", "window": "1h", "every": "15m"}


@pytest.fixture
def watched(world: World, model: str) -> World:
    create(world, environment="none", log=LOG, drift=DRIFT, sites={world.agent.agent.site: {"min": 0, "max": 1}})
    add_commit(world.deps.db, "train", size=1000)
    wait(world, 60)
    return world


def log_requests(world: World) -> None:
    add_commit(world.deps.db, "xray-requests", now=world.clock.now(), size=1000)


def start_due(world: World) -> int:
    return drift_watch.start_due(world.deps, world.clock.now())


def wait(world: World, minutes: float) -> None:
    world.clock.advance(60 * minutes)
    log_requests(world)


def analysed(world: World) -> list[Analysis]:
    with world.deps.db.read() as tx:
        endpoint = rows.find(tx, world.project.id, "xray")
        assert endpoint is not None
        return list(endpoint_analyses.page(tx, endpoint.id, AnalysisKind.DRIFT, limit=100))


def job_of(world: World, analysis: Analysis) -> Job:
    with world.deps.db.read() as tx:
        found = jobs.get(tx, analysis.job_id or "")
    assert found is not None
    return found


def report(psi: float, p_value: float = 1e-9, level: str = "much", **more: Any) -> dict[str, Any]:
    column = {"level": level, "psi": psi, "statistic": 0.5, "p_value": p_value, "reason": f"PSI {psi}."}
    versions = {"2": {"requests": 40, "level": "much", "psi": 0.9, "column": "outputs.y"}}
    return {
        "schema": "millpond.drift/1", "error": "", "requests": 500, "requests_of": 900,
        "columns": {"inputs.age": column}, "versions": versions, **more,
    }  # fmt: skip


def end(world: World, told: dict[str, Any] | None) -> Analysis:
    """The newest analysis once its job has left this report."""
    job = job_of(world, analysed(world)[0])
    files = {"drift.json": json.dumps(told).encode()} if told is not None else {"other": b""}
    made = commit_files(world.deps, world.project, OUTPUT_DATASET, files, branch=job.id, author="maria")
    world.schedule()
    finish(world, job, output_commit=made.id)
    analyses.settle_all(world.deps, world.clock.now())
    return analysed(world)[0]


def test_each_window_is_compared_once_when_its_requests_are_there(watched: World) -> None:
    assert start_due(watched) == 1
    assert start_due(watched) == 0, "it runs"
    (first,) = analysed(watched)
    assert (first.until - first.since).total_seconds() == 3600 and first.until.timestamp() % 900 == 0
    assert (watched.clock.now() - first.until).total_seconds() >= 720, "the log is committed every ten minutes"
    spec = job_of(watched, first).spec
    assert [(one.env, one.dataset, one.ref) for one in spec.inputs] == [
        ("MILL_INPUT_LOG", "default/xray-requests", "main"), ("MILL_INPUT_REFERENCE", "default/train", "main"),
    ]  # fmt: skip
    assert spec.experiment == "drift-xray" and spec.params["path"] == "train.parquet"
    assert spec.params["since"] == first.since.isoformat() and spec.params["rows"] == 20_000
    end(watched, report(0.4))
    assert start_due(watched) == 0, "the window was compared"
    wait(watched, 15)
    assert start_due(watched) == 1 and len(analysed(watched)) == 2


def test_two_servers_start_one_job(watched: World) -> None:
    """Both have decided before either has written."""
    with watched.deps.db.read() as tx:
        endpoint = rows.find(tx, watched.project.id, "xray")
    assert endpoint is not None
    now = watched.clock.now()
    assert drift_watch._start_due(watched.deps, endpoint, now)
    assert not drift_watch._start_due(watched.deps, endpoint, now)
    with watched.deps.db.read() as tx:
        assert len(jobs.by_ids(tx, [one.job_id or "" for one in analysed(watched)])) == len(analysed(watched)) == 1


def test_windows_before_the_endpoint_are_not_compared(world: World, model: str) -> None:
    create(world, environment="none", log=LOG, drift=DRIFT, sites={world.agent.agent.site: {"min": 0, "max": 1}})
    add_commit(world.deps.db, "train", size=1000)
    log_requests(world)
    assert start_due(world) == 0
    wait(world, 30)
    assert start_due(world) == 1


def test_without_new_requests_nothing_is_started(watched: World) -> None:
    watched.clock.advance(7200)
    assert start_due(watched) == 0
    log_requests(watched)
    assert start_due(watched) == 1


def test_too_much_drift_is_told_everywhere_until_it_is_over(watched: World) -> None:
    deps, project = watched.deps, watched.project
    start_due(watched)
    found = end(watched, report(0.4))
    said = "Drift of inputs.age: PSI 0.40 is above 0.2 (p = 1e-09)."
    assert found.state is AnalysisState.DONE and found.alerts == (said,)
    assert endpoints.get(deps, project, "xray").drift_alerts == (said,)
    assert any("Drift of inputs.age" in one for one in why(deps, project, "xray").reasons)
    run = runs.get(deps, watched.maria, project, found.run_id or "").view
    assert run.run.experiment == "drift-xray" and run.tags["drift"] == "much"
    assert run.metrics["psi/inputs.age"].last == 0.4 and run.metrics["p/inputs.age"].last == 1e-9
    first = activity.latest(deps, watched.maria, project=project.name, limit=50)
    (news,) = [one for one in first if one.action == "endpoint.drift"]
    assert news.reason == said and news.subject == "default/xray"
    wait(watched, 15)
    start_due(watched)
    end(watched, report(0.5))
    wait(watched, 15)
    start_due(watched)
    assert end(watched, report(0.05, level="none")).alerts == ()
    assert endpoints.get(deps, project, "xray").drift_alerts == ()
    with deps.db.read() as tx:
        told = [one.action for one in audit.page(tx, limit=100) if one.action.startswith("endpoint.drift")]
    assert told == ["endpoint.drift-over", "endpoint.drift"], "once when it begins, once when it ends"


@pytest.mark.parametrize(("psi", "p_value"), [(0.15, 1e-9), (0.9, 0.3)])
def test_little_or_chance_is_no_alert(watched: World, psi: float, p_value: float) -> None:
    start_due(watched)
    assert end(watched, report(psi, p_value)).alerts == ()


def test_each_version_has_a_say_of_its_own(watched: World) -> None:
    start_due(watched)
    end(watched, report(0.05, level="none"))
    with watched.deps.db.read() as tx:
        endpoint = rows.find(tx, watched.project.id, "xray")
        assert endpoint is not None
        seen = newest_drift(tx, endpoint, version=2)
        assert seen is not None and (seen.psi, seen.column) == (0.9, "outputs.y")
        assert newest_drift(tx, endpoint, version=3) is None
        later = watched.clock.now() + timedelta(seconds=1)
        assert newest_drift(tx, endpoint, version=2, since=later) is None


@pytest.mark.parametrize(
    ("told", "said"),
    [
        (None, "ended without a report"),
        ({"schema": "other"}, "ended without a report"),
        ({"schema": "millpond.drift/1", "error": "No column fits."}, "No column fits."),
    ],
)
def test_a_window_that_cannot_be_compared_says_why(watched: World, told: dict[str, Any] | None, said: str) -> None:
    start_due(watched)
    found = end(watched, told)
    assert found.state is AnalysisState.FAILED and said in found.error
    assert any(said in one for one in why(watched.deps, watched.project, "xray").reasons)


def test_a_report_of_the_wrong_form_breaks_nothing(watched: World) -> None:
    start_due(watched)
    odd = {"x": {"level": 7, "psi": "many", "p_value": float("nan")}, "y": 3}
    found = end(watched, report(0.4, columns=odd, versions=[1], unmatched=[1, None], requests="all"))
    assert found.state is AnalysisState.DONE and not found.alerts and found.report["requests"] == 0
    assert found.report["columns"] == {
        "x": {"level": "unknown", "psi": 0.0, "statistic": 0.0, "p_value": 0.0, "reason": ""}
    }


def test_a_reference_that_is_gone_is_said_and_tried_again_with_the_next_window(watched: World) -> None:
    deps, maria, project = watched.deps, watched.maria, watched.project
    text = asked(environment="none", log=LOG, drift={**DRIFT, "reference": "gone@v1"})
    endpoints.update(deps, maria, project, "xray", text, unchecked=True)
    assert start_due(watched) == 0
    (found,) = analysed(watched)
    assert found.state is AnalysisState.FAILED and "gone" in found.error and found.job_id is None
    assert start_due(watched) == 0 and len(analysed(watched)) == 1
    wait(watched, 15)
    start_due(watched)
    assert len(analysed(watched)) == 2


def test_on_demand_it_needs_a_reference_and_requests(watched: World, model: str) -> None:
    deps, maria, project = watched.deps, watched.maria, watched.project
    first = drift_watch.measure_now(deps, maria, project, "xray")
    assert first.until == watched.clock.now() and first.created_by == "maria"
    assert drift_watch.measure_now(deps, maria, project, "xray") == first, "it runs"
    wait(watched, 5)
    assert drift_watch.measure_now(deps, maria, project, "xray").until > first.until, "there are later requests"
    create(watched, "bare", environment="none", log={**LOG, "to": "bare-requests@main"}, drift=DRIFT)
    with pytest.raises(Conflict, match="No requests"):
        drift_watch.measure_now(deps, maria, project, "bare")
    create(watched, "plain", environment="none")
    with pytest.raises(Conflict, match="no reference"):
        drift_watch.measure_now(deps, maria, project, "plain")
    with pytest.raises(Invalid, match="not kept with inputs and outputs"):
        create(watched, "unlogged", drift=DRIFT)


def test_prometheus_has_psi_by_column_without_names(watched: World) -> None:
    start_due(watched)
    end(watched, report(0.4))
    registry = CollectorRegistry()
    registry.register(EndpointCollector(watched.deps))
    text = generate_latest(registry).decode()
    (line,) = [one for one in text.splitlines() if one.startswith("millpond_endpoint_drift_psi{")]
    assert 'column="inputs-0"' in line and line.endswith(" 0.4") and "age" not in text and "xray" not in text
    (alerts,) = [one for one in text.splitlines() if one.startswith("millpond_endpoint_drift_alerts{")]
    assert alerts.endswith(" 1.0")
