"""Drift by schedule: of endpoints that ask for it, each window of requests compared with the reference by a job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from logging import getLogger

from sqlalchemy import Connection

from millpond.db import datasets, endpoint_analyses, endpoints, projects
from millpond.decide.endpoints.drift_rules import due_window, next_at
from millpond.errors import Conflict, MillError
from millpond.model.endpoint import Endpoint, drift_experiment
from millpond.model.endpoint_analysis import Analysis, AnalysisKind, AnalysisState
from millpond.model.endpoint_spec import EndpointDrift, Packages
from millpond.model.job_spec import JobInput, JobSpec
from millpond.model.names import DatasetRef
from millpond.model.people import SYSTEM, Actor, Project, Role
from millpond.services.commits import refs
from millpond.services.deps import Deps
from millpond.services.endpoints import acting, analyses, code
from millpond.services.endpoints.endpoints import find
from millpond.services.people import access
from millpond.services.serving.program import PACKAGE

logger = getLogger(__name__)

SECONDS = 15.0
# A comparison asked for twice in a row is one.
_JUST_NOW = timedelta(minutes=1)
_REFERENCE_ENV = "MILL_INPUT_REFERENCE"


@dataclass(frozen=True, slots=True)
class DriftOverview:
    """What is asked for, when the next window is due, and what was found, newest first."""

    endpoint: Endpoint
    next_at: datetime | None
    found: Sequence[Analysis]


def overview(deps: Deps, project: Project, written: str, *, limit: int) -> DriftOverview:
    endpoint, found = analyses.list_analyses(deps, project, written, AnalysisKind.DRIFT, limit=limit)
    drift = endpoint.spec.drift
    due = next_at(drift, endpoint.spec.log.every_seconds, deps.clock.now()) if drift else None
    return DriftOverview(endpoint, due, found)


def start_due(deps: Deps, now: datetime) -> int:
    """Start what is due; how many. One that cannot be started holds no other up, and says why."""
    with deps.db.read() as tx:
        due = [one for one in endpoints.all_of(tx) if _is_due(tx, one, now)]
    started = 0
    for endpoint in due:
        try:
            started += _start_due(deps, endpoint, now)
        except Exception:  # the edge of an endpoint: the others go on
            logger.exception("drift_not_started endpoint=%s", endpoint.id)
    return started


def measure_now(deps: Deps, actor: Actor, project: Project, written: str) -> Analysis:
    """Compare the requests of a window that ends now, as far as they are committed. Conflict without a reference."""
    access.require(actor, project, Role.MEMBER)
    with deps.db.read() as tx:
        endpoint = find(tx, project, written)
        head = _log_commit(tx, endpoint)
        newest = endpoint_analyses.page(tx, endpoint.id, AnalysisKind.DRIFT, limit=1)
    drift = endpoint.spec.drift
    if drift is None:
        raise Conflict(
            f"Endpoint {endpoint.name} has no reference to compare with.",
            hint="Add to its endpoint.yaml: drift: {reference: DATASET@REF}",
        )
    if head is None:
        raise Conflict(
            f"No requests of endpoint {endpoint.name} are committed yet.",
            hint=f"They are committed every {endpoint.spec.log.every_seconds} seconds, once there are some.",
        )
    now = deps.clock.now()
    is_running = newest and newest[0].state is AnalysisState.RUNNING
    if is_running and now - newest[0].until < _JUST_NOW:
        return newest[0]
    planned = _planned(endpoint, drift, (now - timedelta(seconds=drift.window_seconds), now), now, actor.name)
    return analyses.start(deps, actor, project, endpoint, planned, _spec(deps, project, endpoint, drift, planned))


def _is_due(tx: Connection, endpoint: Endpoint, now: datetime) -> bool:
    drift = endpoint.spec.drift
    if drift is None or endpoint.deleted_at is not None:
        return False
    since, until = due_window(drift, endpoint.spec.log.every_seconds, now)
    newest = endpoint_analyses.page(tx, endpoint.id, AnalysisKind.DRIFT, limit=1)
    if until <= endpoint.created_at:
        return False
    if newest and (newest[0].state is AnalysisState.RUNNING or newest[0].until >= until):
        return False
    committed_at = _log_commit(tx, endpoint)
    # Without a commit since then, no requests of the window are there to compare.
    return committed_at is not None and committed_at > since


def _log_commit(tx: Connection, endpoint: Endpoint) -> datetime | None:
    """When requests were last committed."""
    log = analyses.log_input(endpoint)
    dataset = datasets.find(tx, endpoint.project_id, log.dataset.rpartition("/")[2])
    head = refs.head_commit(tx, dataset, log.ref) if dataset else None
    return head.time if head else None


def _start_due(deps: Deps, endpoint: Endpoint, now: datetime) -> bool:
    with deps.db.read() as tx:
        project = projects.get(tx, endpoint.project_id)
    drift = endpoint.spec.drift
    if project is None or drift is None:
        return False
    window = due_window(drift, endpoint.spec.log.every_seconds, now)
    planned = _planned(endpoint, drift, window, now, SYSTEM.name)
    try:
        actor = acting.actor_of(deps, endpoint, project)
        analyses.start(deps, actor, project, endpoint, planned, _spec(deps, project, endpoint, drift, planned))
    except analyses.Taken:
        return False
    except MillError as error:
        logger.info("drift_refused endpoint=%s why=%s", endpoint.id, error.message)
        analyses.note_refused(deps, endpoint, planned, error)
        return False
    return True


def _planned(
    endpoint: Endpoint, drift: EndpointDrift, window: tuple[datetime, datetime], now: datetime, by: str
) -> Analysis:
    since, until = window
    return Analysis(
        id="", endpoint_id=endpoint.id, kind=AnalysisKind.DRIFT, key=f"{until:%Y-%m-%dT%H:%M:%S.%fZ}", since=since,
        until=until, created_by=by, created_at=now, asked={"reference": drift.reference},
    )  # fmt: skip


def _spec(deps: Deps, project: Project, endpoint: Endpoint, drift: EndpointDrift, planned: Analysis) -> JobSpec:
    written = DatasetRef.parse(drift.reference)
    dataset = f"{written.project or project.name}/{written.dataset}"
    is_built = endpoint.spec.environment is Packages.AUTO
    return JobSpec(
        command=("python3", "-m", f"{PACKAGE}.monitoring.drift_job"),
        inputs=(analyses.log_input(endpoint), JobInput(dataset, ref=written.ref or "", env=_REFERENCE_ENV)),
        code_commit=code.serving_code(deps, project, endpoint.created_by),
        environment=code.packages_of_monitoring(deps, project, endpoint.created_by) if is_built else None,
        on=drift.on,
        retries=1,
        timeout_seconds=analyses.TIMEOUT_SECONDS,
        experiment=drift_experiment(endpoint.name),
        tags={"endpoint": endpoint.name, "role": "drift"},
        params={
            "endpoint": endpoint.name, "reference": drift.reference, "path": written.path or "",
            "since": planned.since.isoformat(), "until": planned.until.isoformat(), "columns": list(drift.columns),
            "rows": drift.rows,
        },
    )  # fmt: skip
