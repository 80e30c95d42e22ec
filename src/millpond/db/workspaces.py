"""Workspaces: found by name within a project, changed only while their row is locked."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, Select, and_, bindparam, case, func, or_, select

from millpond.db.tables import job, job_workspace, placement, project, site, volume, workspace, workspace_snapshot
from millpond.model.documents import from_document, to_document
from millpond.model.workspace import (
    Consistency,
    How,
    SnapshotState,
    Workspace,
    WorkspaceRestore,
    WorkspaceSource,
    WorkspaceState,
)


@dataclass(frozen=True, slots=True)
class StockedRow:
    """What a workspace takes of its volume."""

    id: str
    project_id: str
    project: str
    name: str
    owner: str
    size_bytes: int
    # What it alone has on the disk, and what its near snapshots have there.
    written_bytes: int
    snapshot_bytes: int
    is_waiting: bool
    is_deleted: bool


_WORKSPACES = (
    select(
        workspace,
        project.c.name.label("project"),
        volume.c.name.label("volume"),
        volume.c.path.label("volume_path"),
        volume.c.site_id,
        site.c.name.label("site"),
    )
    .join(project, project.c.id == workspace.c.project_id)
    .join(volume, volume.c.id == workspace.c.volume_id)
    .join(site, site.c.id == volume.c.site_id)
)
_snapshot = workspace_snapshot
_AT_REST = (WorkspaceState.READY, WorkspaceState.FAILED)
_BUSY = [SnapshotState.TAKING.value, SnapshotState.NEAR.value, SnapshotState.REMOVING.value]
_SNAPSHOTS_TO_DO = select(_snapshot.c.workspace_id).where(
    or_(_snapshot.c.state.in_(_BUSY), and_(_snapshot.c.leaves_volume, _snapshot.c.is_near))
)
_USED = (
    select(job_workspace.c.workspace_id)
    .join(job, job.c.id == job_workspace.c.job_id)
    .where(job.c.ended_at.is_(None), job.c.placement_id.is_not(None))
)
_SOMETHING_TO_DO = or_(
    workspace.c.state.in_([one.value for one in WorkspaceState if one not in _AT_REST]),
    workspace.c.measure,
    workspace.c.id.in_(_SNAPSHOTS_TO_DO),
    workspace.c.id.in_(_USED),
)
# Made once: it is asked with every exchange of an agent.
_WITH_WORK = _WORKSPACES.where(
    volume.c.filler_id == bindparam("agent"), volume.c.problem.is_(None), _SOMETHING_TO_DO
).order_by(workspace.c.created_at, workspace.c.id)
# Of other tables, or never changed.
_FIXED = ("id", "project_id", "project", "volume", "volume_path", "site_id", "site", "created_at")


def insert(tx: Connection, value: Workspace) -> None:
    """IntegrityError when a living workspace of the project has the name."""
    fixed = {"id": value.id, "project_id": value.project_id, "created_at": value.created_at}
    tx.execute(workspace.insert().values(**fixed, **_changing(value)))


def get(tx: Connection, workspace_id: str) -> Workspace | None:
    return _first(tx, _WORKSPACES.where(workspace.c.id == workspace_id))


def find(tx: Connection, project_id: str, written: str) -> Workspace | None:
    """A living one, by name or id."""
    named = or_(workspace.c.name == written, workspace.c.id == written)
    living = and_(workspace.c.project_id == project_id, workspace.c.deleted_at.is_(None))
    return _first(tx, _WORKSPACES.where(living, named))


def find_deleted(tx: Connection, project_id: str, written: str) -> Workspace | None:
    """In the bin: the one of that name that was deleted last, or the one of that id."""
    named = or_(workspace.c.name == written, workspace.c.id == written)
    gone = and_(workspace.c.project_id == project_id, workspace.c.deleted_at.is_not(None))
    return _first(tx, _WORKSPACES.where(gone, named).order_by(workspace.c.deleted_at.desc()))


def lock(tx: Connection, workspace_id: str) -> Workspace | None:
    """Read it to change it: nobody else does until this transaction ends. Lock its volume first, if at all."""
    return _first(tx, _WORKSPACES.where(workspace.c.id == workspace_id).with_for_update(of=workspace))


def save(tx: Connection, value: Workspace) -> None:
    """Only for one read by `lock` in the same transaction. IntegrityError when its name was taken meanwhile."""
    tx.execute(workspace.update().where(workspace.c.id == value.id).values(**_changing(value)))


def delete(tx: Connection, workspace_id: str) -> None:
    """With its snapshots and schedules."""
    tx.execute(workspace.delete().where(workspace.c.id == workspace_id))


def page(
    tx: Connection, *, projects: Collection[str] | None, after: tuple[str, str] = ("", ""), limit: int,
    seen_by: str | None = None, administered: Collection[str] = (), deleted: bool = False,
) -> Sequence[Workspace]:  # fmt: skip
    """By project and name. `seen_by`: those that this user owns or that are shared, and all of projects they
    administer; None: all."""
    query = _WORKSPACES.where(workspace.c.deleted_at.is_not(None) if deleted else workspace.c.deleted_at.is_(None))
    if projects is not None:
        query = query.where(workspace.c.project_id.in_(projects))
    if seen_by is not None:
        own = or_(workspace.c.owner_id == seen_by, workspace.c.shared)
        query = query.where(or_(own, workspace.c.project_id.in_(administered)))
    behind = or_(project.c.name > after[0], and_(project.c.name == after[0], workspace.c.name > after[1]))
    return _all(tx, query.where(behind).order_by(project.c.name, workspace.c.name, workspace.c.id).limit(limit))


def names(tx: Connection, project_id: str) -> Sequence[str]:
    query = select(workspace.c.name).where(workspace.c.project_id == project_id, workspace.c.deleted_at.is_(None))
    return tx.scalars(query.order_by(workspace.c.name)).all()


def of_volume(tx: Connection, volume_id: str) -> Sequence[Workspace]:
    """All that take room there, those in the bin too, in the order they were asked for."""
    query = _WORKSPACES.where(workspace.c.volume_id == volume_id)
    return _all(tx, query.order_by(workspace.c.created_at, workspace.c.id))


def stocked(tx: Connection, volume_id: str) -> Sequence[StockedRow]:
    """In the order they were asked for."""
    near = (
        select(func.coalesce(func.sum(_snapshot.c.unique_bytes), 0))
        .where(_snapshot.c.workspace_id == workspace.c.id, _snapshot.c.is_near)
        .scalar_subquery()
    )
    columns = (
        workspace.c.id, workspace.c.project_id, project.c.name.label("project"), workspace.c.name, workspace.c.owner,
        _there(workspace.c.size_bytes).label("size_bytes"), _there(workspace.c.unique_bytes).label("written_bytes"),
        _there(near).label("snapshot_bytes"),
        and_(workspace.c.state == WorkspaceState.CREATING.value, workspace.c.attempt == 0).label("is_waiting"),
        workspace.c.deleted_at.is_not(None).label("is_deleted"),
    )  # fmt: skip
    query = select(*columns).join(project, project.c.id == workspace.c.project_id)
    query = query.where(workspace.c.volume_id == volume_id).order_by(workspace.c.created_at, workspace.c.id)
    return [
        StockedRow(**{**row._mapping, "snapshot_bytes": int(row.snapshot_bytes), "is_waiting": bool(row.is_waiting)})
        for row in tx.execute(query)
    ]


def _there(size: Any) -> Any:
    """What is on a claim takes nothing of the volume."""
    return case((workspace.c.storage_class != "", 0), else_=size)


def with_work(tx: Connection, agent_id: str) -> Sequence[Workspace]:
    """On well volumes that this agent tends: those that something is to be done for, or that jobs have now."""
    return [_workspace(row) for row in tx.execute(_WITH_WORK, {"agent": agent_id})]


def in_state(tx: Connection, state: WorkspaceState) -> Sequence[Workspace]:
    return _all(tx, _WORKSPACES.where(workspace.c.state == state.value).order_by(workspace.c.changed_at))


def by_ids(tx: Connection, ids: Collection[str]) -> Mapping[str, Workspace]:
    found = _all(tx, _WORKSPACES.where(workspace.c.id.in_(sorted(ids)))) if ids else ()
    return {one.id: one for one in found}


def ask_measure(tx: Connection, ids: Collection[str]) -> None:
    """Have these measured, as far as they are ready: something may have written to them."""
    ready = and_(workspace.c.id.in_(sorted(ids)), workspace.c.state == WorkspaceState.READY.value)
    tx.execute(workspace.update().where(ready).values(measure=True))


def deleted_before(tx: Connection, moment: datetime, *, limit: int) -> Sequence[Workspace]:
    query = _WORKSPACES.where(workspace.c.deleted_at < moment).order_by(workspace.c.deleted_at)
    return _all(tx, query.limit(limit))


def clones_of(tx: Connection, workspace_id: str) -> Sequence[Workspace]:
    """Those that began with this one or with one of its snapshots, living or in the bin."""
    source = workspace.c.source["workspace_id"].as_string()
    return _all(tx, _WORKSPACES.where(source == workspace_id).order_by(workspace.c.created_at))


# Jobs that have them ---------------------------------------------------------------------------------


def note_job(tx: Connection, job_id: str, used: Mapping[str, bool]) -> None:
    """`used`: by workspace id, whether it only reads."""
    if used:
        rows = [{"job_id": job_id, "workspace_id": key, "read_only": value} for key, value in used.items()]
        tx.execute(job_workspace.insert(), rows)


def living_jobs(
    tx: Connection, workspace_ids: Collection[str], *, placed: bool = False
) -> Mapping[str, Sequence[tuple[str, str, bool]]]:
    """Id, name and whether it only reads, of the jobs that have not ended, by workspace; `placed`: and have begun."""
    query = (
        select(job_workspace.c.workspace_id, job.c.id, job.c.name, job_workspace.c.read_only)
        .join(job, job.c.id == job_workspace.c.job_id)
        .where(job_workspace.c.workspace_id.in_(sorted(workspace_ids)), job.c.ended_at.is_(None))
        .order_by(job.c.queued_at, job.c.id)
    )
    if placed:
        query = query.where(job.c.placement_id.is_not(None))
    found: dict[str, list[tuple[str, str, bool]]] = {}
    for row in tx.execute(query) if workspace_ids else ():
        found.setdefault(row.workspace_id, []).append((row.id, row.name, row.read_only))
    return found


def nodes_of(tx: Connection, workspace_ids: Collection[str]) -> Mapping[str, Sequence[tuple[str, str, str]]]:
    """Id, name and node of the placed jobs that have not ended, by workspace."""
    query = (
        select(job_workspace.c.workspace_id, job.c.id, job.c.name, placement.c.node)
        .join(job, job.c.id == job_workspace.c.job_id)
        .join(placement, placement.c.id == job.c.placement_id)
        .where(job_workspace.c.workspace_id.in_(sorted(workspace_ids)), job.c.ended_at.is_(None))
        .order_by(job.c.queued_at, job.c.id)
    )
    found: dict[str, list[tuple[str, str, str]]] = {}
    for row in tx.execute(query) if workspace_ids else ():
        found.setdefault(row.workspace_id, []).append((row.id, row.name, row.node))
    return found


def job_ids_since(tx: Connection, moment: datetime) -> Sequence[str]:
    """Jobs with workspaces that are placed, or ended after `moment`."""
    is_lately = or_(job.c.placement_id.is_not(None), job.c.ended_at > moment)
    query = select(job_workspace.c.job_id).join(job, job.c.id == job_workspace.c.job_id).where(is_lately).distinct()
    return list(tx.execute(query.order_by(job_workspace.c.job_id)).scalars())


def of_waiting_jobs(tx: Connection, job_ids: Collection[str]) -> Mapping[str, Sequence[str]]:
    """Ids of the workspaces of these jobs."""
    query = select(job_workspace.c.job_id, job_workspace.c.workspace_id)
    query = query.where(job_workspace.c.job_id.in_(sorted(job_ids))).order_by(job_workspace.c.workspace_id)
    found: dict[str, list[str]] = {}
    for row in tx.execute(query) if job_ids else ():
        found.setdefault(row.job_id, []).append(row.workspace_id)
    return found


def _first(tx: Connection, query: Select[Any]) -> Workspace | None:
    row = tx.execute(query).first()
    return _workspace(row) if row else None


def _all(tx: Connection, query: Select[Any]) -> Sequence[Workspace]:
    return [_workspace(row) for row in tx.execute(query)]


def _workspace(row: Row[Any]) -> Workspace:
    values = dict(row._mapping)
    del values["source_commit"]
    values |= {
        "state": WorkspaceState(row.state),
        "how": How(row.how),
        "reasons": tuple(row.reasons),
        "source": from_document(WorkspaceSource, row.source),
        "consistency": Consistency(row.consistency) if row.consistency else None,
        "restore": from_document(WorkspaceRestore, row.restore) if row.restore else None,
    }
    return Workspace(**values)


def _changing(value: Workspace) -> dict[str, Any]:
    found = {key: item for key, item in asdict(value).items() if key not in _FIXED}
    needs_commit = value.state in (WorkspaceState.CREATING, WorkspaceState.RESTORING)
    source = value.restore.source if value.restore else value.source
    return found | {
        "state": value.state.value,
        "how": value.how.value,
        "reasons": list(value.reasons),
        "source": to_document(value.source),
        "source_commit": (source.commit_id or None) if needs_commit else None,
        "consistency": value.consistency.value if value.consistency else None,
        "restore": to_document(value.restore) if value.restore else None,
    }
