"""Runs, and how far each of their writers has been heard."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, Select, bindparam, func, select, tuple_

from millpond.db import lineage
from millpond.db.batches import batches
from millpond.db.direct import Answer, Direct, DirectTx
from millpond.db.tables import job, metric_batch, project, run, run_record, run_writer
from millpond.model.documents import from_document, to_document
from millpond.model.job import JobState
from millpond.model.run import Run, RunRecord, RunState

# Made once: every job has a run, which begins and ends with it.
_INSERT = run.insert()
_END = run.update().where(run.c.id == bindparam("ended"))


def _taking_sequence(insert: Any) -> Any:
    names = ("run_id", "writer", "sequence")
    statement = insert(run_writer).values({name: bindparam(name) for name in names})
    is_new = run_writer.c.sequence < statement.excluded.sequence
    change = {"sequence": statement.excluded.sequence}
    taken = statement.on_conflict_do_update(index_elements=["run_id", "writer"], set_=change, where=is_new)
    return taken.returning(run_writer.c.sequence)


_TAKE_SEQUENCE = Direct(_taking_sequence)


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs a list holds. `projects` are ids, None meaning all."""

    projects: Collection[str] | None = None
    experiments: Collection[str] | None = None
    parent: str | None = None
    # None: whether in the bin or not.
    deleted: bool | None = False

    def apply(self, query: Select[Any]) -> Select[Any]:
        if self.deleted is not None:
            query = query.where(run.c.deleted_at.is_not(None) if self.deleted else run.c.deleted_at.is_(None))
        if self.projects is not None:
            query = query.where(run.c.project_id.in_(self.projects))
        if self.experiments is not None:
            query = query.where(run.c.experiment.in_(self.experiments))
        if self.parent is not None:
            query = query.where(run.c.parent_id == self.parent)
        return query


def insert(tx: Connection, *values: Run) -> None:
    tx.execute(_INSERT, [_values(value) for value in values])


def get(tx: Connection, run_id: str) -> Run | None:
    row = tx.execute(selected().where(run.c.id == run_id)).first()
    return to_run(row) if row else None


def lock(tx: Connection, run_id: str) -> Run | None:
    """Read it to change it: nobody else changes it until this transaction ends."""
    row = tx.execute(selected().where(run.c.id == run_id).with_for_update(of=run)).first()
    return to_run(row) if row else None


def save(tx: Connection, value: Run) -> None:
    """Write a changed run back. Only for one read by `lock` in the same transaction."""
    tx.execute(run.update().where(run.c.id == value.id).values(**_values(value)))


def end(tx: Connection, run_id: str, state: RunState, ended_at: datetime) -> None:
    """Only this of it changes: nobody need have read it. One that is gone stays so."""
    tx.execute(_END, {"ended": run_id, "state": state.value, "ended_at": ended_at})


def delete(tx: Connection, run_id: str) -> None:
    tx.execute(run.delete().where(run.c.id == run_id))
    lineage.forget_run(tx, run_id)


def ids(tx: Connection, project_id: str, *, limit: int = 1000) -> Sequence[str]:
    """The newest runs of a project."""
    query = select(run.c.id).where(run.c.project_id == project_id, run.c.deleted_at.is_(None))
    return tx.scalars(query.order_by(run.c.started_at.desc()).limit(limit)).all()


def names(tx: Connection, project_id: str, *, limit: int = 1000) -> Sequence[str]:
    """Of the newest runs of a project."""
    query = select(run.c.name).where(run.c.project_id == project_id, run.c.deleted_at.is_(None))
    return tx.scalars(query.order_by(run.c.started_at.desc()).limit(limit)).all()


def named(tx: Connection, project_id: str, name: str, *, deleted: bool = False, limit: int) -> Sequence[Run]:
    """Runs with exactly this name, newest first."""
    query = RunFilter(projects=[project_id], deleted=deleted).apply(selected()).where(run.c.name == name)
    return _all(tx, query.order_by(run.c.started_at.desc(), run.c.id.desc()).limit(limit))


def with_prefix(tx: Connection, project_id: str, prefix: str, *, limit: int) -> Sequence[Run]:
    """Runs whose id begins so."""
    query = selected().where(run.c.project_id == project_id, run.c.id >= prefix, run.c.id < prefix + "\x7f")
    return _all(tx, query.order_by(run.c.id).limit(limit))


def of_project(tx: Connection, project_id: str, run_ids: Iterable[str]) -> Sequence[Run]:
    """Those of the runs that are in the project, in any order."""
    return _all(tx, selected().where(run.c.project_id == project_id, run.c.id.in_(list(run_ids))))


def id_of_job(tx: Connection, job_id: str) -> str | None:
    return tx.scalar(select(run.c.id).where(run.c.job_id == job_id))


def count_children(tx: Connection, run_id: str) -> int:
    query = select(func.count()).select_from(run).where(run.c.parent_id == run_id, run.c.deleted_at.is_(None))
    return tx.scalar(query) or 0


def page(tx: Connection, chosen: RunFilter, *, limit: int, before: tuple[datetime, str] | None = None) -> Sequence[Run]:
    """Newest first, behind the run that started at that moment with that id."""
    return _all(tx, newest_first(chosen.apply(selected()), before).limit(limit))


def newest_first(query: Select[Any], before: tuple[datetime, str] | None) -> Select[Any]:
    if before is not None:
        query = query.where(tuple_(run.c.started_at, run.c.id) < tuple_(*before))
    return query.order_by(run.c.started_at.desc(), run.c.id.desc())


def silent_since(tx: Connection, moment: datetime, *, limit: int) -> Sequence[str]:
    """Scripts that should be reporting and have not since that moment. A job's run is not among them."""
    query = select(run.c.id).where(
        run.c.state == RunState.RUNNING.value, run.c.job_id.is_(None), run.c.seen_at < moment
    )
    return tx.scalars(query.order_by(run.c.id).limit(limit)).all()


def deleted_before(tx: Connection, moment: datetime, *, limit: int) -> Sequence[Run]:
    """Runs without a job that have lain in the bin since before that moment."""
    query = selected().where(run.c.deleted_at < moment, run.c.job_id.is_(None))
    return _all(tx, query.order_by(run.c.deleted_at).limit(limit))


def ended_unfolded(tx: Connection, *, limit: int) -> Sequence[str]:
    """Runs that have ended with batches of points that are not folded."""
    # Batches are few, whatever the number of runs; an index of these runs would be written with every batch.
    waiting = select(metric_batch.c.run_id).distinct()
    query = select(run.c.id).where(run.c.id.in_(waiting), run.c.state != RunState.RUNNING.value)
    return tx.scalars(query.order_by(run.c.id).limit(limit)).all()


def record(tx: Connection, run_id: str) -> RunRecord:
    document = tx.scalar(select(run_record.c.document).where(run_record.c.run_id == run_id))
    return from_document(RunRecord, document) if document else RunRecord()


def records(tx: Connection, run_ids: Collection[str]) -> Mapping[str, RunRecord]:
    """Those of several runs, without `origin`, which is most of each."""
    parts = [run_record.c.document[name].label(name) for name in ("notes", "inputs", "outputs")]
    found: dict[str, RunRecord] = {}
    for batch in batches(run_ids):
        for row in tx.execute(select(run_record.c.run_id, *parts).where(run_record.c.run_id.in_(batch))):
            kept = {name: row._mapping[name] for name in ("notes", "inputs", "outputs") if row._mapping[name]}
            found[row.run_id] = from_document(RunRecord, kept)
    return found


def save_record(tx: Connection, run_id: str, value: RunRecord) -> None:
    """Only while the run is locked."""
    tx.execute(run_record.delete().where(run_record.c.run_id == run_id))
    tx.execute(run_record.insert().values(run_id=run_id, document=to_document(value)))


def take_sequence(tx: Connection, run_id: str, writer: str, sequence: int) -> bool:
    """True if this batch is new; from now on it, and those before it, are not."""
    return ask_sequence(tx, run_id, writer, sequence)() is not None


def ask_sequence(tx: Connection | DirectTx, run_id: str, writer: str, sequence: int) -> Answer:
    """The same; the answer has a row if the batch is new."""
    return _TAKE_SEQUENCE.ask(tx, {"run_id": run_id, "writer": writer, "sequence": sequence})


def selected() -> Select[Any]:
    """Runs as `to_run` reads them."""
    columns = (run, project.c.name.label("project"), job.c.state.label("job_state"))
    return select(*columns).join(project, project.c.id == run.c.project_id).outerjoin(job, job.c.id == run.c.job_id)


def to_run(row: Row[Any]) -> Run:
    job_state = JobState(row.job_state) if row.job_state else None
    return Run(**dict(row._mapping) | {"state": RunState(row.state), "job_state": job_state})


def _all(tx: Connection, query: Select[Any]) -> Sequence[Run]:
    return [to_run(row) for row in tx.execute(query)]


def _values(value: Run) -> dict[str, Any]:
    values = asdict(value) | {"state": value.state.value}
    del values["project"], values["job_state"]
    return values
