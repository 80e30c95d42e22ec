"""Analyses of request logs: jobs near the data, whose reports are kept with the endpoint and in the jobs' runs.

The server starts such a job and reads its small report; the log itself is read by the job alone (docs/design/025).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from logging import getLogger

from sqlalchemy import Connection

from millpond.db import commits, datasets, endpoint_analyses, endpoints, jobs, notices, projects
from millpond.decide.endpoints import analyses as decided
from millpond.decide.notifications.notices import of_drift
from millpond.errors import MillError, NotFound
from millpond.model.endpoint import Endpoint
from millpond.model.endpoint_analysis import Analysis, AnalysisKind, AnalysisState
from millpond.model.ids import new_id
from millpond.model.job import Job
from millpond.model.job_spec import JobInput, JobSpec
from millpond.model.names import DEFAULT_BRANCH, OUTPUT_DATASET
from millpond.model.people import SYSTEM, Actor, Project
from millpond.model.run import Run, RunReport
from millpond.model.series import Points
from millpond.services.datasets import files
from millpond.services.deps import Deps
from millpond.services.endpoints.endpoints import announce, find
from millpond.services.jobs import submit
from millpond.services.people import audit
from millpond.services.runs import reports

logger = getLogger(__name__)

TOPIC = "endpoint analyses"
SECONDS = 2.0
LOG_ENV = "MILL_INPUT_LOG"
TIMEOUT_SECONDS = 3600
_REPORTS = {AnalysisKind.DRIFT: "drift.json", AnalysisKind.REPLAY: "replay.json"}
_MOST_REPORT = 1 << 20
_KEPT = timedelta(days=90)
# Columns that a record in the activity names.
_TOLD = 3


class Taken(Exception):
    """Another server, or another request, has started the same one."""


def log_input(endpoint: Endpoint, commit_id: str = "") -> JobInput:
    """The request log of an endpoint that keeps one."""
    name, _, branch = (endpoint.spec.log.to or "").partition("@")
    return JobInput(
        f"{endpoint.project}/{name}", ref=branch or DEFAULT_BRANCH, commit_id=commit_id, env=LOG_ENV
    )  # fmt: skip


def start(
    deps: Deps, actor: Actor, project: Project, endpoint: Endpoint, planned: Analysis, spec: JobSpec
) -> Analysis:  # fmt: skip
    """Start the job of an analysis. `Taken` if there is one of the same kind and key already."""
    made: list[Analysis] = []

    def note(tx: Connection, job: Job, run: Run) -> None:
        _check_free(tx, planned)
        made.append(replace(planned, id=new_id(), job_id=job.id, run_id=run.id))
        endpoint_analyses.insert(tx, made[-1])

    submit.enqueue(deps, actor, project, spec, name=None, also=note)
    deps.events.wake(TOPIC)
    announce(deps, endpoint)
    return made[-1]


def note_refused(deps: Deps, endpoint: Endpoint, planned: Analysis, error: MillError) -> None:
    """Keep why an analysis could not be started."""
    said = f"{error.message} {error.hint or ''}".strip()
    with deps.db.write() as tx:
        _check_free(tx, planned)
        refused = replace(planned, id=new_id(), state=AnalysisState.FAILED, ended_at=planned.created_at, error=said)
        endpoint_analyses.insert(tx, refused)
    announce(deps, endpoint)


def list_analyses(
    deps: Deps, project: Project, written: str, kind: AnalysisKind, *, limit: int
) -> tuple[Endpoint, Sequence[Analysis]]:
    """Newest first."""
    with deps.db.read() as tx:
        endpoint = find(tx, project, written)
        return endpoint, endpoint_analyses.page(tx, endpoint.id, kind, limit=limit)


def settle_all(deps: Deps, now: datetime) -> None:
    """Keep what analyses found whose jobs have ended."""
    with deps.db.read() as tx:
        running = [(one, jobs.get(tx, one.job_id or "")) for one in endpoint_analyses.running(tx)]
    for analysis, job in running:
        if job is None or job.status.state.is_finished:
            _settle(deps, analysis, job, now)


def forget_old(deps: Deps, now: datetime) -> None:
    with deps.db.write() as tx:
        endpoint_analyses.forget(tx, now - _KEPT)


def _check_free(tx: Connection, planned: Analysis) -> None:
    """The endpoint's row is locked until the transaction ends: so one of several servers comes first."""
    if endpoints.lock(tx, planned.endpoint_id) is None:
        raise Taken
    if endpoint_analyses.find(tx, planned.endpoint_id, planned.kind, planned.key) is not None:
        raise Taken


def _settle(deps: Deps, analysis: Analysis, job: Job | None, now: datetime) -> None:
    with deps.db.read() as tx:
        endpoint = endpoints.get(tx, analysis.endpoint_id)
        project = projects.get(tx, endpoint.project_id) if endpoint else None
    if endpoint is None or project is None:
        return  # it goes with the endpoint
    try:
        report = _report(deps, job, _REPORTS[analysis.kind]) if job is not None else None
        found = decided.ended(analysis, job, report, endpoint.spec.drift, now)
        if found.state is AnalysisState.DONE and found.run_id is not None:
            _keep_in_run(deps, project, found, now)
    except MillError as error:  # the lake is away: later
        logger.warning("analysis_not_read id=%s error=%s", analysis.id, error.message)
        return
    with deps.db.write() as tx:
        current = endpoint_analyses.lock(tx, analysis.id)
        if current is None or current.state is not AnalysisState.RUNNING:
            return  # another server was first
        before = endpoint_analyses.newest(tx, [endpoint.id], analysis.kind).get(endpoint.id)
        endpoint_analyses.save(tx, found)
        if analysis.kind is AnalysisKind.DRIFT and found.state is AnalysisState.DONE:
            _note_alerts(tx, endpoint, before.alerts if before else (), found, now)
    announce(deps, endpoint)


def _note_alerts(tx: Connection, endpoint: Endpoint, before: Sequence[str], found: Analysis, now: datetime) -> None:
    """In the activity: when drift begins to be too much, and when that is over."""
    if bool(before) == bool(found.alerts):
        return
    audit.record(
        tx, now=now, actor=SYSTEM, action="endpoint.drift" if found.alerts else "endpoint.drift-over",
        subject=f"{endpoint.project}/{endpoint.name}", project_id=endpoint.project_id,
        details={"endpoint": endpoint.id, "run": found.run_id, "reason": " ".join(found.alerts[:_TOLD])},
    )  # fmt: skip
    if found.alerts:
        notices.insert(tx, of_drift(endpoint, found.alerts, now))


def _keep_in_run(deps: Deps, project: Project, found: Analysis, now: datetime) -> None:
    """Metrics and tags, once, however often this is tried."""
    moment = int(now.timestamp() * 1000)
    points = {key: Points.of([0], [value], [moment]) for key, value in decided.metrics_of(found).items()}
    tags = {}
    if found.kind is AnalysisKind.DRIFT:
        level, psi, column = decided.worst(found.report)
        tags = {"drift": level.value, "drift.psi": f"{psi:g}", "drift.column": column, "drift.version": "all"}
    told = RunReport(writer=found.id, sequence=1, points=points, tags=tags)
    try:
        reports.take_report(deps, SYSTEM, project, found.run_id or "", told)
    except NotFound:  # somebody has deleted it meanwhile
        logger.info("analysis_without_run id=%s", found.id)


def _report(deps: Deps, job: Job, name: str) -> bytes | None:
    """The file that the job has left, if it has."""
    if job.status.output_commit is None:
        return None
    with deps.db.read() as tx:
        dataset = datasets.find(tx, job.project_id, OUTPUT_DATASET)
        commit = commits.get(tx, job.status.output_commit)
    if dataset is None or commit is None:
        return None
    try:
        found = files.open_file(deps, dataset, commit, name)
    except NotFound:
        return None
    return b"".join(found.read(deps, 0, found.size)) if found.size <= _MOST_REPORT else None
