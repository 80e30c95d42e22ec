"""Runs of flows and their steps: changed only together with the revision of the run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, bindparam, func, or_, select, tuple_

from millpond.db.batches import batches
from millpond.db.tables import flow, flow_run, flow_step, job, project
from millpond.model.documents import from_document, to_document
from millpond.model.flow_run import FlowRun, FlowRunPhase, FlowStep, RunOptions, RunTrigger, StepState

_RUNS = (
    select(flow_run, flow.c.name.label("flow"), project.c.name.label("project"))
    .join(flow, flow.c.id == flow_run.c.flow_id)
    .join(project, project.c.id == flow_run.c.project_id)
)
_LIVING = flow_run.c.ended_at.is_(None)
_RUN_FIELDS = tuple(one.name for one in fields(FlowRun))
_STEP_FIELDS = tuple(one.name for one in fields(FlowStep))
_INSERT_STEP = flow_step.insert()
# Among names of steps, which have no colon.
READY = ":ready"
_SAVE_STEP = flow_step.update().where(flow_step.c.id == bindparam("saved"))


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs a list holds; None: any."""

    flow_id: str | None = None
    phases: Collection[FlowRunPhase] | None = None
    trigger: str | None = None


@dataclass(frozen=True, slots=True)
class JobEnd:
    """The job of a step that has not ended itself."""

    run_id: str
    step_id: str
    job_id: str


def insert(tx: Connection, value: FlowRun) -> None:
    tx.execute(flow_run.insert().values(**_run_values(value)))


def save(tx: Connection, value: FlowRun) -> None:
    """Only for one read by `lock` in the same transaction; the revision is counted up."""
    changed = _run_values(value) | {"revision": value.revision + 1}
    tx.execute(flow_run.update().where(flow_run.c.id == value.id).values(**changed))


def get(tx: Connection, run_id: str) -> FlowRun | None:
    row = tx.execute(_RUNS.where(flow_run.c.id == run_id)).first()
    return _run(row) if row else None


def lock(tx: Connection, run_id: str) -> FlowRun | None:
    row = tx.execute(_RUNS.where(flow_run.c.id == run_id).with_for_update(of=flow_run)).first()
    return _run(row) if row else None


def find_numbered(tx: Connection, flow_id: str, number: int | None) -> FlowRun | None:
    """The run of that number, or the newest."""
    query = _RUNS.where(flow_run.c.flow_id == flow_id)
    if number is not None:
        query = query.where(flow_run.c.number == number)
    row = tx.execute(query.order_by(flow_run.c.number.desc()).limit(1)).first()
    return _run(row) if row else None


def newest_number(tx: Connection, flow_id: str) -> int:
    return tx.scalar(select(func.max(flow_run.c.number)).where(flow_run.c.flow_id == flow_id)) or 0


def page(
    tx: Connection, project_id: str, chosen: RunFilter, *, limit: int, before: tuple[datetime, str] | None = None
) -> Sequence[FlowRun]:
    """Newest first."""
    query = _RUNS.where(flow_run.c.project_id == project_id)
    if chosen.flow_id is not None:
        query = query.where(flow_run.c.flow_id == chosen.flow_id)
    if chosen.phases is not None:
        query = query.where(flow_run.c.phase.in_([phase.value for phase in chosen.phases]))
    if chosen.trigger is not None:
        query = query.where(flow_run.c.trigger_type == chosen.trigger)
    if before is not None:
        query = query.where(tuple_(flow_run.c.created_at, flow_run.c.id) < tuple_(*before))
    query = query.order_by(flow_run.c.created_at.desc(), flow_run.c.id.desc()).limit(limit)
    return [_run(row) for row in tx.execute(query)]


def newest_of_flows(tx: Connection, flow_ids: Collection[str]) -> Mapping[str, FlowRun]:
    """The newest run of each flow that has one."""
    newest = (
        select(flow_run.c.flow_id, func.max(flow_run.c.number).label("number"))
        .where(flow_run.c.flow_id.in_(list(flow_ids)))
        .group_by(flow_run.c.flow_id)
        .subquery()
    )
    query = _RUNS.join(newest, (newest.c.flow_id == flow_run.c.flow_id) & (newest.c.number == flow_run.c.number))
    return {row.flow_id: _run(row) for row in tx.execute(query)}


def living(tx: Connection, flow_id: str | None = None) -> Sequence[FlowRun]:
    """Runs that have not ended, the oldest first."""
    query = _RUNS.where(_LIVING) if flow_id is None else _RUNS.where(_LIVING, flow_run.c.flow_id == flow_id)
    return [_run(row) for row in tx.execute(query.order_by(flow_run.c.created_at, flow_run.c.id))]


def living_ids(tx: Connection) -> Sequence[str]:
    return tx.scalars(select(flow_run.c.id).where(_LIVING).order_by(flow_run.c.created_at, flow_run.c.id)).all()


def ended(tx: Connection, flow_id: str, *, limit: int = 20) -> Sequence[FlowRun]:
    """Newest first."""
    query = _RUNS.where(flow_run.c.flow_id == flow_id, flow_run.c.ended_at.is_not(None))
    return [_run(row) for row in tx.execute(query.order_by(flow_run.c.number.desc()).limit(limit))]


def steps(tx: Connection, run_id: str) -> Sequence[FlowStep]:
    """By step and index."""
    query = select(flow_step).where(flow_step.c.run_id == run_id).order_by(flow_step.c.step, flow_step.c.index)
    return [_step(row) for row in tx.execute(query)]


def step(tx: Connection, step_id: str) -> FlowStep | None:
    row = tx.execute(select(flow_step).where(flow_step.c.id == step_id)).first()
    return _step(row) if row else None


def steps_by_ids(tx: Connection, step_ids: Collection[str]) -> Sequence[FlowStep]:
    found: list[FlowStep] = []
    for batch in batches(sorted(step_ids), 500):
        found += [_step(row) for row in tx.execute(select(flow_step).where(flow_step.c.id.in_(batch)))]
    return found


def unfinished(tx: Connection, run_id: str) -> Mapping[str, int]:
    """How many executions of each step have not ended; those that wait for a place to start also as READY."""
    where = (flow_step.c.run_id == run_id, flow_step.c.ended_at.is_(None))
    query = select(flow_step.c.step, flow_step.c.state, func.count()).where(*where)
    found: dict[str, int] = {}
    for step, state, count in tx.execute(query.group_by(flow_step.c.step, flow_step.c.state)):
        for key in (step, READY) if state == StepState.READY.value else (step,):
            found[key] = found.get(key, 0) + count
    return found


def step_of_job(tx: Connection, job_id: str) -> FlowStep | None:
    row = tx.execute(select(flow_step).where(flow_step.c.job_id == job_id)).first()
    return _step(row) if row else None


def insert_steps(tx: Connection, values: Iterable[FlowStep]) -> None:
    for batch in batches([_step_row(value) for value in values], 500):
        tx.execute(_INSERT_STEP, batch)


def save_steps(tx: Connection, values: Iterable[FlowStep]) -> None:
    """Only while the run is locked."""
    for batch in batches([_step_row(value) | {"saved": value.id} for value in values], 500):
        tx.execute(_SAVE_STEP, batch)


def delete_steps(tx: Connection, step_ids: Collection[str]) -> None:
    for batch in batches(list(step_ids), 500):
        tx.execute(flow_step.delete().where(flow_step.c.id.in_(batch)))


def ended_jobs(tx: Connection) -> Sequence[JobEnd]:
    """Jobs that have ended, or are gone, of steps that have not."""
    query = (
        select(flow_step.c.run_id, flow_step.c.id, flow_step.c.job_id)
        .join(job, job.c.id == flow_step.c.job_id, isouter=True)
        .where(flow_step.c.ended_at.is_(None), flow_step.c.job_id.is_not(None))
        .where(or_(job.c.ended_at.is_not(None), job.c.id.is_(None)))
    )
    return [JobEnd(row.run_id, row.id, row.job_id) for row in tx.execute(query)]


def due(tx: Connection) -> Sequence[str]:
    query = select(flow_run.c.id).where(_LIVING, flow_run.c.due).order_by(flow_run.c.created_at, flow_run.c.id)
    return tx.scalars(query).all()


def make_due(tx: Connection, run_ids: Collection[str]) -> None:
    """Without a new revision: a decision that is being made is still right, and made once more."""
    for batch in batches(sorted(run_ids), 500):
        tx.execute(flow_run.update().where(flow_run.c.id.in_(batch), _LIVING).values(due=True))


def expired(tx: Connection, now: datetime) -> Sequence[str]:
    """Runs with an approval whose time is over."""
    query = select(flow_step.c.run_id).where(flow_step.c.ended_at.is_(None), flow_step.c.expires_at <= now)
    return tx.scalars(query.distinct()).all()


def _run_values(value: FlowRun) -> dict[str, Any]:
    values = {name: getattr(value, name) for name in _RUN_FIELDS if name not in ("flow", "project")}
    return values | {
        "phase": value.phase.value,
        "trigger": to_document(value.trigger),
        "trigger_type": value.trigger.type,
        "options": to_document(value.options),
    }


def _run(row: Row[Any]) -> FlowRun:
    values = {name: row._mapping[name] for name in _RUN_FIELDS}
    return FlowRun(
        **values
        | {
            "phase": FlowRunPhase(row.phase),
            "trigger": from_document(RunTrigger, row.trigger),
            "options": from_document(RunOptions, row.options),
        }
    )


def _step_row(value: FlowStep) -> dict[str, Any]:
    return {name: getattr(value, name) for name in _STEP_FIELDS} | {"state": value.state.value}


def _step(row: Row[Any]) -> FlowStep:
    return FlowStep(**{name: row._mapping[name] for name in _STEP_FIELDS} | {"state": StepState(row.state)})
