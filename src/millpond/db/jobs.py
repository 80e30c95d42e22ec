"""Jobs: found by id, by name and number, by state; changed only from the state they were read in."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, bindparam, func, select, tuple_

from millpond.db import lineage, workspaces
from millpond.db.tables import commit, job, project
from millpond.decide.lineage import edges_of_job
from millpond.model.documents import from_document, to_document
from millpond.model.job import Ending, Job, JobState, JobStatus
from millpond.model.job_spec import JobKind, JobSpec
from millpond.model.template import TemplateUse

_LIVING = job.c.ended_at.is_(None)
_PLACED = job.c.state.in_([state.value for state in (JobState.PLACED, JobState.PREPARING, JobState.RUNNING)])
_JOBS = select(job, project.c.name.label("project")).join(project, project.c.id == job.c.project_id)
# Made once: a job has so many columns that making a statement takes longer than running it.
_BY_ID = _JOBS.where(job.c.id == bindparam("wanted"))
_LOCKED = _BY_ID.with_for_update(of=job)
_INSERT = job.insert()
_UPDATE = job.update().where(job.c.id == bindparam("saved"))
_BY_IDS = _JOBS.where(job.c.id.in_(bindparam("wanted", expanding=True)))
_PROGRESS = select(job.c.id, job.c.state, job.c.started_at).where(job.c.id.in_(bindparam("wanted", expanding=True)))
_NAMED = (job.c.project_id == bindparam("project_id"), job.c.name == bindparam("name"))
_HOLDER = _JOBS.where(*_NAMED, _LIVING)
_NEWEST = select(func.max(job.c.number)).where(*_NAMED)
_QUEUED = _JOBS.where(job.c.state == JobState.QUEUED.value).order_by(job.c.priority.desc(), job.c.queued_at, job.c.id)
_UNFILLED = _JOBS.where(_PLACED, job.c.filled_at.is_(None), job.c.started_at.is_(None)).order_by(job.c.id)
_LIMITED = _JOBS.where(_PLACED, job.c.started_at.is_not(None), job.c.timeout_seconds > 0).order_by(job.c.id)


@dataclass(frozen=True, slots=True)
class JobFilter:
    """Which jobs a list holds. `projects` are ids, None meaning all; a deleted job is in the bin, not in the list.

    `text` is found in names, however written, and at the beginning of ids.
    """

    projects: Collection[str] | None = None
    states: Collection[JobState] | None = None
    created_by: str | None = None
    deleted: bool = False
    compute: str | None = None
    kind: JobKind | None = None
    text: str | None = None


# Fields that are columns of the same name.
_STATUS = tuple(field.name for field in fields(JobStatus))
_IDENTITY = tuple(field.name for field in fields(Job) if field.name not in ("spec", "status"))


def insert(tx: Connection, *values: Job) -> None:
    """IntegrityError when a job of such a name has not ended."""
    tx.execute(_INSERT, [_all_values(value) for value in values])
    lineage.add(tx, [edge for value in values for edge in edges_of_job(value)])
    for value in values:
        workspaces.note_job(tx, value.id, {one.id: one.read_only for one in value.spec.workspaces})


def _all_values(value: Job) -> dict[str, Any]:
    identity = {name: getattr(value, name) for name in _IDENTITY if name != "project"}
    return identity | _spec_values(value.spec) | _status_values(value.status)


def get(tx: Connection, job_id: str) -> Job | None:
    row = tx.execute(_BY_ID, {"wanted": job_id}).first()
    return _job(row) if row else None


def lock(tx: Connection, job_id: str) -> Job | None:
    """Read it to change it: nobody else changes it until this transaction ends."""
    row = tx.execute(_LOCKED, {"wanted": job_id}).first()
    return _job(row) if row else None


def save(tx: Connection, value: Job) -> None:
    """Write the status of a changed job back. Only for one read by `lock` in the same transaction."""
    tx.execute(_UPDATE, {**_status_values(value.status), "saved": value.id})


def save_spec(tx: Connection, value: Job) -> None:
    """As `save`, for a job whose template was chosen anew."""
    tx.execute(_UPDATE, {**_spec_values(value.spec), **_status_values(value.status), "saved": value.id})


def delete(tx: Connection, job_id: str) -> None:
    tx.execute(job.delete().where(job.c.id == job_id))
    lineage.forget_job(tx, job_id)


def find_numbered(tx: Connection, project_id: str, name: str, number: int | None) -> Job | None:
    """NAME#N, or the newest of that name; deleted ones only by number or when there is no other."""
    query = _JOBS.where(job.c.project_id == project_id, job.c.name == name)
    if number is not None:
        query = query.where(job.c.number == number)
    row = tx.execute(query.order_by(job.c.deleted_at.is_not(None), job.c.number.desc()).limit(1)).first()
    return _job(row) if row else None


def find_by_prefix(tx: Connection, project_id: str, prefix: str) -> Sequence[Job]:
    """At most two: one is an answer, two are a question."""
    query = _JOBS.where(job.c.project_id == project_id, job.c.id.startswith(prefix, autoescape=True))
    return [_job(row) for row in tx.execute(query.order_by(job.c.id).limit(2))]


def holder(tx: Connection, project_id: str, name: str) -> Job | None:
    """The job that has not ended and has this name."""
    row = tx.execute(_HOLDER, {"project_id": project_id, "name": name}).first()
    return _job(row) if row else None


def newest_number(tx: Connection, project_id: str, name: str) -> int:
    """0 when no job ever had this name."""
    return tx.scalar(_NEWEST, {"project_id": project_id, "name": name}) or 0


def newest_numbers(tx: Connection, values: Collection[Job]) -> Mapping[tuple[str, str], int]:
    """The newest number of each of these jobs' names, by project id and name."""
    names = {(value.project_id, value.name) for value in values}
    if not names:
        return {}
    query = (
        select(job.c.project_id, job.c.name, func.max(job.c.number).label("number"))
        .where(tuple_(job.c.project_id, job.c.name).in_(sorted(names)))
        .group_by(job.c.project_id, job.c.name)
    )
    return {(row.project_id, row.name): row.number for row in tx.execute(query)}


def names(tx: Connection, project_id: str, *, limit: int = 1000) -> Sequence[str]:
    """The names most recently used in a project."""
    query = select(job.c.name).where(job.c.project_id == project_id, job.c.deleted_at.is_(None))
    return tx.scalars(query.order_by(job.c.queued_at.desc()).limit(limit)).all()


def page(tx: Connection, chosen: JobFilter, *, limit: int, before: tuple[datetime, str] | None = None) -> Sequence[Job]:
    """Newest first, behind the job queued at that moment with that id.

    Chosen from the one table first, where an index has that order, and only then joined.
    """
    newest_first = (job.c.queued_at.desc(), job.c.id.desc())
    wanted = _chosen(select(job.c.id), chosen)
    if before is not None:
        wanted = wanted.where(tuple_(job.c.queued_at, job.c.id) < tuple_(*before))
    wanted = wanted.order_by(*newest_first).limit(limit)
    return [_job(row) for row in tx.execute(_JOBS.where(job.c.id.in_(wanted)).order_by(*newest_first))]


def ended_last(tx: Connection, chosen: JobFilter, *, since: datetime, limit: int) -> Sequence[Job]:
    """Those that ended last, since a moment."""
    wanted = _chosen(select(job.c.id).where(job.c.ended_at >= since), chosen)
    wanted = wanted.order_by(job.c.ended_at.desc()).limit(limit)
    return [_job(row) for row in tx.execute(_JOBS.where(job.c.id.in_(wanted)).order_by(job.c.ended_at.desc()))]


def running(tx: Connection) -> Sequence[Job]:
    return [_job(row) for row in tx.execute(_JOBS.where(job.c.state == JobState.RUNNING.value))]


def with_gpus(tx: Connection) -> Sequence[Job]:
    """Those that run and hold GPUs."""
    held = (job.c.state == JobState.RUNNING.value, job.c.gpu_hundredths > 0)
    return [_job(row) for row in tx.execute(_JOBS.where(*held))]


def count(tx: Connection, chosen: JobFilter) -> int:
    return tx.scalar(_chosen(select(func.count()).select_from(job), chosen)) or 0


def queued(tx: Connection) -> Sequence[Job]:
    """Everything that waits: the highest priority first, then in the order it was queued."""
    return [_job(row) for row in tx.execute(_QUEUED)]


def unfilled(tx: Connection) -> Sequence[Job]:
    """Everything that has a placement, and has neither all of its data there nor begun."""
    return [_job(row) for row in tx.execute(_UNFILLED)]


def with_time_limit(tx: Connection) -> Sequence[Job]:
    """Everything that has begun, not ended, and may not run for ever."""
    return [_job(row) for row in tx.execute(_LIMITED)]


def by_ids(tx: Connection, job_ids: Collection[str]) -> Mapping[str, Job]:
    if not job_ids:
        return {}
    rows = tx.execute(_BY_IDS, {"wanted": sorted(job_ids)})
    return {row.id: _job(row) for row in rows}


def progress(tx: Connection, job_ids: Collection[str]) -> Mapping[str, tuple[JobState, datetime | None]]:
    """The state of each, and when it began: a thousand jobs as a whole are slow to read."""
    if not job_ids:
        return {}
    rows = tx.execute(_PROGRESS, {"wanted": sorted(job_ids)})
    return {row.id: (JobState(row.state), row.started_at) for row in rows}


def commit_sizes(tx: Connection, commits: Collection[str]) -> Mapping[str, int]:
    """Bytes of each commit."""
    if not commits:
        return {}
    rows = tx.execute(select(commit.c.id, commit.c.bytes).where(commit.c.id.in_(sorted(commits))))
    return {row.id: row.bytes for row in rows}


def note_use(tx: Connection, job_id: str, now: datetime) -> None:
    tx.execute(job.update().where(job.c.id == job_id).values(used_at=now))


def with_idle_time(tx: Connection) -> Sequence[Job]:
    """Jobs that run, and are stopped when nobody uses them."""
    query = _JOBS.where(job.c.state == JobState.RUNNING.value)
    return [found for row in tx.execute(query) if (found := _job(row)).spec.idle_seconds]


def deleted_before(tx: Connection, moment: datetime, *, limit: int) -> Sequence[Job]:
    """What has lain in the bin since before that moment and has ended."""
    query = _JOBS.where(job.c.deleted_at < moment, job.c.ended_at.is_not(None))
    return [_job(row) for row in tx.execute(query.order_by(job.c.deleted_at).limit(limit))]


def with_checkpoint(tx: Connection, moment: datetime, *, limit: int) -> Sequence[Job]:
    """Jobs that ended before that moment and have a checkpoint still."""
    query = _JOBS.where(job.c.ended_at < moment, job.c.checkpoint_commit.is_not(None))
    return [_job(row) for row in tx.execute(query.order_by(job.c.ended_at).limit(limit))]


def _chosen(query: Select[Any], chosen: JobFilter) -> Select[Any]:
    query = query.where(job.c.deleted_at.is_not(None) if chosen.deleted else job.c.deleted_at.is_(None))
    if chosen.projects is not None:
        query = query.where(_is_among(job.c.project_id, chosen.projects))
    if chosen.states is not None:
        query = query.where(_is_among(job.c.state, [state.value for state in chosen.states]))
    if chosen.created_by is not None:
        query = query.where(job.c.created_by == chosen.created_by)
    if chosen.compute is not None:
        query = query.where(job.c.compute == chosen.compute)
    if chosen.kind is not None:
        query = query.where(job.c.kind == chosen.kind.value)
    if chosen.text:
        named = job.c.name.contains(chosen.text.lower(), autoescape=True)
        query = query.where(named | job.c.id.startswith(chosen.text.lower(), autoescape=True))
    return query


def _is_among(column: ColumnElement[str], values: Collection[str]) -> ColumnElement[bool]:
    """One value as an equation: then an index gives the rows in the order they are wanted in."""
    return column == next(iter(values)) if len(values) == 1 else column.in_(values)


def _status_values(value: JobStatus) -> dict[str, Any]:
    values = {name: getattr(value, name) for name in _STATUS}
    return values | {
        "state": value.state.value,
        "ending": value.ending.value if value.ending else None,
        "template": to_document(value.template) if value.template else None,
        "preempted_at": list(value.preempted_at),
    }


def _spec_values(value: JobSpec) -> dict[str, Any]:
    """The document, and the columns that are derived from it."""
    return {
        "spec": value.to_document(),
        "kind": value.kind.value,
        "priority": value.priority,
        "gpu_hundredths": value.gpu_hundredths,
        "gpus": value.gpus,
        "preemptible": value.is_preemptible,
        "timeout_seconds": value.timeout_seconds,
        "dependent": bool(value.after),
        "class_key": value.class_key,
        "code_commit": value.code_commit,
    }


def _job(row: Row[Any]) -> Job:
    values = row._mapping
    status = {name: values[name] for name in _STATUS} | {
        "state": JobState(row.state),
        "reasons": tuple(row.reasons),
        "ending": Ending(row.ending) if row.ending else None,
        "template": from_document(TemplateUse, row.template) if row.template else None,
        "preempted_at": tuple(row.preempted_at),
    }
    identity = {name: values[name] for name in _IDENTITY}
    return Job(**identity, spec=JobSpec.from_document(row.spec), status=JobStatus(**status))
