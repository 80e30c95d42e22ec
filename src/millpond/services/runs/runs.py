"""Runs: made by jobs and by scripts anywhere, fed by batches that count once, shown with their newest metrics."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from millpond.db import jobs, metrics, runs
from millpond.db.runs import RunFilter
from millpond.decide.job_names import made_name
from millpond.errors import Conflict, Invalid, NameTaken
from millpond.model.ids import new_job_id
from millpond.model.job import Job
from millpond.model.people import Actor, Project, Role
from millpond.model.run import MetricPoint, Run, RunState
from millpond.services.deps import Deps
from millpond.services.jobs import job_changes
from millpond.services.listing import Listing, page_of
from millpond.services.people import access, audit
from millpond.services.time_cursors import moment_of, written_moment
from millpond.wire import runs as wire
from millpond.wire.runs import RunBatch, RunCreate

# A script that says nothing for so long is taken for dead; its next batch revives it.
SILENCE = timedelta(minutes=5)
MAX_TEXT = 200


@dataclass(frozen=True, slots=True)
class RunView:
    run: Run
    # The newest value of every metric.
    metrics: Mapping[str, float]


def create(deps: Deps, actor: Actor, project: Project, request: RunCreate) -> RunView:
    """Creating one with the same id again is the same run."""
    now = deps.clock.now()
    run = _new_run(actor, project, request, now)
    try:
        with deps.db.write() as tx:
            existing = runs.get(tx, run.id)
            if existing is None:
                runs.insert(tx, run)
                audit.record(
                    tx, now=now, actor=actor, action="run.create", subject=f"{project.name}/{run.id}",
                    project_id=project.id,
                )  # fmt: skip
    except IntegrityError as error:
        raise Conflict(f"Another request is creating run {run.id}.", hint="Try again.") from error
    if existing is not None and existing.project_id != project.id:
        raise NameTaken(f"Cannot use the run id {run.id!r} here.", hint="Leave it out to get a new one.")
    if existing is None:
        _publish(deps, run, "created")
    return _view(deps, existing or run)


def find(tx: Connection, actor: Actor, project: Project, run_id: str) -> Run:
    """A run of the project; for a job's own token, only its own run."""
    run = runs.get(tx, run_id)
    if run is None or run.project_id != project.id or (actor.job_id is not None and run.job_id != actor.job_id):
        raise access.not_found("run", run_id, runs.ids(tx, project.id) if actor.job_id is None else ())
    return run


def get(deps: Deps, actor: Actor, project: Project, run_id: str) -> RunView:
    with deps.db.read() as tx:
        run = find(tx, actor, project, run_id)
    return _view(deps, run)


def list_runs(
    deps: Deps, actor: Actor, *, project: str | None, experiment: str | None, deleted: bool, limit: int,
    cursor: str | None,
) -> Listing[RunView]:  # fmt: skip
    """Newest first, of one project or of all the actor may see."""
    with deps.db.read() as tx:
        among = [access.find_project(tx, actor, project, Role.VIEWER).id] if project else access.visible_projects(actor)
        chosen = RunFilter(projects=among, experiment=experiment, deleted=deleted)
        found = runs.page(tx, chosen, limit=limit + 1, before=moment_of(cursor))
        newest = metrics.newest(tx, [run.id for run in found])
    views = [RunView(run, newest[run.id]) for run in found]
    return page_of(views, limit, key=lambda view: written_moment(view.run.started_at, view.run.id))


def take_batch(deps: Deps, actor: Actor, project: Project, run_id: str, batch: RunBatch) -> None:
    """Add what a client reports. A batch that was taken before changes nothing and is answered alike."""
    now = deps.clock.now()
    points = [_point(point) for point in batch.metrics]
    with deps.db.write() as tx:
        job_id = find(tx, actor, project, run_id).job_id
        # The job before its run, in the order in which they end.
        job = jobs.lock(tx, job_id) if job_id is not None and batch.progress is not None else None
        run = runs.lock(tx, run_id)
        if run is None or not runs.take_sequence(tx, run_id, batch.writer, batch.sequence):
            return
        metrics.add(tx, run_id, points)
        after = _reported(run, batch, now)
        runs.save(tx, after)
        moved = _note_progress(tx, job, batch.progress)
    _publish(deps, after, "batch")
    if after.state is not run.state:
        deps.events.wake("artifacts")
    if moved is not None:
        job_changes.publish(deps, moved)


def move_to_bin(deps: Deps, actor: Actor, project: Project, run_id: str) -> RunView:
    return _set_deleted(deps, actor, project, run_id, deps.clock.now())


def take_from_bin(deps: Deps, actor: Actor, project: Project, run_id: str) -> RunView:
    return _set_deleted(deps, actor, project, run_id, None)


def mark_lost(deps: Deps, now: datetime) -> int:
    """Housekeeping: scripts that have been silent too long; how many."""
    with deps.db.read() as tx:
        silent = runs.silent_since(tx, now - SILENCE, limit=1000)
    lost: list[Run] = []
    for run_id in silent:
        with deps.db.write() as tx:
            run = runs.lock(tx, run_id)
            if run is not None and run.state is RunState.RUNNING and run.seen_at < now - SILENCE:
                lost.append(replace(run, state=RunState.LOST, ended_at=run.seen_at))
                runs.save(tx, lost[-1])
    for run in lost:
        _publish(deps, run, "ended")
    return len(lost)


def _note_progress(tx: Connection, job: Job | None, progress: float | None) -> Job | None:
    """The run's job, which this transaction has locked, if it is now further (or less far) than it was said to be."""
    if job is None or job.status.state.is_finished or job.status.progress == progress:
        return None
    after = job.changed(progress=progress)
    jobs.save(tx, after)
    return after


def _new_run(actor: Actor, project: Project, request: RunCreate, now: datetime) -> Run:
    run_id = request.id or new_job_id()
    for text, field in ((request.name, "name"), (request.experiment, "experiment")):
        if text is not None and not 1 <= len(text) <= MAX_TEXT:
            raise Invalid(f"The {field} of a run must have 1 to {MAX_TEXT} characters.", fields=[field])
    return Run(
        id=run_id,
        project_id=project.id,
        project=project.name,
        experiment=request.experiment,
        name=request.name or made_name(run_id),
        job_id=None,
        state=RunState.RUNNING,
        params=_storable(request.params),
        tags=request.tags,
        created_by=actor.name,
        started_at=min(request.started_at or now, now),
        ended_at=None,
        seen_at=now,
        deleted_at=None,
    )


def _point(point: wire.MetricPoint) -> MetricPoint:
    if "\0" in point.key or not -(2**63) < point.step < 2**63:
        raise Invalid(f"Metric {point.key!r} has a key or step that cannot be stored.", fields=["metrics"])
    return MetricPoint(point.key, point.step, math.nan if point.value is None else point.value, point.at)


def _storable(value: object) -> Any:
    """Parameters as JSON has them: NaN and the infinities, which it cannot say, become words."""
    match value:
        case float() if not math.isfinite(value):
            return str(value)
        case dict():
            return {str(key): _storable(item) for key, item in value.items()}
        case list():
            return [_storable(item) for item in value]
    return value


def _reported(run: Run, batch: RunBatch, now: datetime) -> Run:
    """The run after a batch. Of what is told twice the newest value stands. A job's run ends with its job."""
    params = {**run.params, **_storable(batch.params)}
    run = replace(
        run,
        name=batch.name or run.name,
        experiment=batch.experiment or run.experiment,
        params=params,
        tags={**run.tags, **batch.tags},
        seen_at=max(now, run.seen_at),
    )
    if run.job_id is not None:
        return run
    if batch.ended is not None and batch.ended is not RunState.RUNNING:
        return replace(run, state=batch.ended, ended_at=min(batch.ended_at or now, now))
    return replace(run, state=RunState.RUNNING, ended_at=None) if run.state is RunState.LOST else run


def _set_deleted(deps: Deps, actor: Actor, project: Project, run_id: str, moment: datetime | None) -> RunView:
    with deps.db.write() as tx:
        found = find(tx, actor, project, run_id)
        if found.job_id is not None:
            raise Conflict(
                f"Run {run_id} belongs to a job and is deleted and restored with it.",
                hint=f"Use `mill delete {found.job_id}` or `mill undelete {found.job_id}`.",
                job=found.job_id,
            )
        run = runs.lock(tx, run_id) or found
        after = replace(run, deleted_at=(run.deleted_at or moment) if moment else None)
        runs.save(tx, after)
        audit.record(
            tx, now=deps.clock.now(), actor=actor, action="run.delete" if moment else "run.undelete",
            subject=f"{project.name}/{run_id}", project_id=project.id,
        )  # fmt: skip
    _publish(deps, after, "changed")
    return _view(deps, after)


def _view(deps: Deps, run: Run) -> RunView:
    with deps.db.read() as tx:
        return RunView(run, metrics.newest(tx, [run.id])[run.id])


def _publish(deps: Deps, run: Run, what: str) -> None:
    data = {"project": run.project, "id": run.id, "what": what, "state": run.state.value}
    deps.events.publish(f"run:{run.id}", project_id=run.project_id, data=data)
    if what != "batch":
        deps.events.publish("runs", project_id=run.project_id, data=data)
