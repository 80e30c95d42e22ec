"""Runs, and how far each of their writers has been heard."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, Select, bindparam, select, tuple_

from millpond.db.tables import job, project, run, run_writer
from millpond.model.job import JobState
from millpond.model.run import Run, RunState

# Made once: every job has a run, which begins and ends with it.
_INSERT = run.insert()
_END = run.update().where(run.c.id == bindparam("ended"))


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs a list holds. `projects` are ids, None meaning all."""

    projects: Collection[str] | None = None
    experiment: str | None = None
    deleted: bool = False


def insert(tx: Connection, value: Run) -> None:
    tx.execute(_INSERT, _values(value))


def get(tx: Connection, run_id: str) -> Run | None:
    row = tx.execute(_runs().where(run.c.id == run_id)).first()
    return _run(row) if row else None


def lock(tx: Connection, run_id: str) -> Run | None:
    """Read it to change it: nobody else changes it until this transaction ends."""
    row = tx.execute(_runs().where(run.c.id == run_id).with_for_update(of=run)).first()
    return _run(row) if row else None


def save(tx: Connection, value: Run) -> None:
    """Write a changed run back. Only for one read by `lock` in the same transaction."""
    tx.execute(run.update().where(run.c.id == value.id).values(**_values(value)))


def end(tx: Connection, run_id: str, state: RunState, ended_at: datetime) -> None:
    """Only this of it changes: nobody need have read it. One that is gone stays so."""
    tx.execute(_END, {"ended": run_id, "state": state.value, "ended_at": ended_at})


def delete(tx: Connection, run_id: str) -> None:
    tx.execute(run.delete().where(run.c.id == run_id))


def ids(tx: Connection, project_id: str, *, limit: int = 1000) -> Sequence[str]:
    """The newest runs of a project."""
    query = select(run.c.id).where(run.c.project_id == project_id, run.c.deleted_at.is_(None))
    return tx.scalars(query.order_by(run.c.started_at.desc()).limit(limit)).all()


def page(tx: Connection, chosen: RunFilter, *, limit: int, before: tuple[datetime, str] | None = None) -> Sequence[Run]:
    """Newest first, behind the run that started at that moment with that id."""
    query = _runs().where(run.c.deleted_at.is_not(None) if chosen.deleted else run.c.deleted_at.is_(None))
    if chosen.projects is not None:
        query = query.where(run.c.project_id.in_(chosen.projects))
    if chosen.experiment is not None:
        query = query.where(run.c.experiment == chosen.experiment)
    if before is not None:
        query = query.where(tuple_(run.c.started_at, run.c.id) < tuple_(*before))
    query = query.order_by(run.c.started_at.desc(), run.c.id.desc()).limit(limit)
    return [_run(row) for row in tx.execute(query)]


def silent_since(tx: Connection, moment: datetime, *, limit: int) -> Sequence[str]:
    """Scripts that should be reporting and have not since that moment. A job's run is not among them."""
    query = select(run.c.id).where(
        run.c.state == RunState.RUNNING.value, run.c.job_id.is_(None), run.c.seen_at < moment
    )
    return tx.scalars(query.order_by(run.c.id).limit(limit)).all()


def deleted_before(tx: Connection, moment: datetime, *, limit: int) -> Sequence[Run]:
    """Runs without a job that have lain in the bin since before that moment."""
    query = _runs().where(run.c.deleted_at < moment, run.c.job_id.is_(None))
    return [_run(row) for row in tx.execute(query.order_by(run.c.deleted_at).limit(limit))]


def take_sequence(tx: Connection, run_id: str, writer: str, sequence: int) -> bool:
    """Whether this batch is new; from now on it, and those before it, are not."""
    key = (run_writer.c.run_id == run_id) & (run_writer.c.writer == writer)
    heard = tx.scalar(select(run_writer.c.sequence).where(key))
    if heard is None:
        tx.execute(run_writer.insert().values(run_id=run_id, writer=writer, sequence=sequence))
        return True
    if sequence <= heard:
        return False
    tx.execute(run_writer.update().where(key).values(sequence=sequence))
    return True


def _runs() -> Select[Any]:
    columns = (run, project.c.name.label("project"), job.c.state.label("job_state"))
    return select(*columns).join(project, project.c.id == run.c.project_id).outerjoin(job, job.c.id == run.c.job_id)


def _values(value: Run) -> dict[str, Any]:
    values = asdict(value) | {"state": value.state.value}
    del values["project"], values["job_state"]
    return values


def _run(row: Row[Any]) -> Run:
    job_state = JobState(row.job_state) if row.job_state else None
    return Run(**dict(row._mapping) | {"state": RunState(row.state), "job_state": job_state})
