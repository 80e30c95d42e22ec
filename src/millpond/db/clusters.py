"""Clusters, their processes and events: found by name, changed only while their row is locked."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, Select, or_, select, tuple_

from millpond.db.tables import cluster, cluster_event, cluster_process, project
from millpond.model.cluster import (
    Cluster,
    ClusterEvent,
    ClusterProcess,
    ClusterProcessState,
    ClusterRole,
    ClusterSpec,
    ClusterState,
)
from millpond.model.documents import from_document, to_document
from millpond.model.ids import new_id

_CLUSTERS: Select[Any] = select(
    *(column for column in cluster.c if column.name != "secret"), project.c.name.label("project")
).join(project, project.c.id == cluster.c.project_id)  # fmt: skip
_LIVING = cluster_process.c.state != ClusterProcessState.ENDED.value
# Of what happened to one cluster.
MOST_EVENTS = 500


def insert(tx: Connection, value: Cluster, *, secret: bytes) -> None:
    """IntegrityError when the name is taken."""
    fixed = {
        "id": value.id,
        "project_id": value.project_id,
        "name": value.name,
        "created_by": value.created_by,
        "created_at": value.created_at,
        "site_id": value.site_id,
        "site": value.site,
        "secret": secret,
        "revision": value.revision,
    }
    tx.execute(cluster.insert().values(**fixed, **_changing(value)))


def find(tx: Connection, project_id: str, written: str) -> Cluster | None:
    """By name or id; also one that is being deleted."""
    named = or_(cluster.c.name == written, cluster.c.id == written)
    row = tx.execute(_CLUSTERS.where(cluster.c.project_id == project_id, named)).first()
    return _cluster(row) if row else None


def lock(tx: Connection, cluster_id: str) -> Cluster | None:
    """Read it to change it: nobody else does until this transaction ends."""
    row = tx.execute(_CLUSTERS.where(cluster.c.id == cluster_id).with_for_update(of=cluster)).first()
    return _cluster(row) if row else None


def save(tx: Connection, value: Cluster) -> None:
    """Only for one read by `lock` in the same transaction. The row's revision is the next one."""
    changed = {**_changing(value), "revision": value.revision + 1}
    tx.execute(cluster.update().where(cluster.c.id == value.id).values(**changed))


def delete(tx: Connection, cluster_id: str) -> None:
    """With its processes and events; their jobs stay."""
    tx.execute(cluster.delete().where(cluster.c.id == cluster_id))


def secret(tx: Connection, cluster_id: str) -> bytes:
    found: bytes = tx.execute(select(cluster.c.secret).where(cluster.c.id == cluster_id)).scalar_one()
    return found


def all_of(tx: Connection) -> Sequence[Cluster]:
    """Oldest first; also those that are being deleted."""
    return _all(tx, _CLUSTERS.order_by(cluster.c.created_at, cluster.c.id))


def names(tx: Connection, project_id: str) -> Sequence[str]:
    query = select(cluster.c.name).where(cluster.c.project_id == project_id)
    return tx.scalars(query.order_by(cluster.c.name)).all()


def page(
    tx: Connection, *, projects: Collection[str] | None, after: tuple[str, str] = ("", ""), limit: int
) -> Sequence[Cluster]:
    """By project and name, behind `after`; of all projects if `projects` is None."""
    query = _CLUSTERS.where(tuple_(project.c.name, cluster.c.name) > tuple_(*after))
    if projects is not None:
        query = query.where(cluster.c.project_id.in_(projects))
    return _all(tx, query.order_by(project.c.name, cluster.c.name).limit(limit))


# Processes ---------------------------------------------------------------------------------------------


def insert_process(tx: Connection, value: ClusterProcess) -> None:
    fixed = {
        "id": value.id,
        "cluster_id": value.cluster_id,
        "role": value.role.value,
        "job_id": value.job_id,
        "job_name": value.job_name,
        "created_at": value.created_at,
    }
    tx.execute(cluster_process.insert().values(**fixed, **_changing_process(value)))


def save_process(tx: Connection, value: ClusterProcess) -> None:
    """Only while its cluster is locked."""
    tx.execute(cluster_process.update().where(cluster_process.c.id == value.id).values(**_changing_process(value)))


def living(tx: Connection, cluster_ids: Collection[str]) -> Sequence[ClusterProcess]:
    """Oldest first."""
    query = select(cluster_process).where(cluster_process.c.cluster_id.in_(cluster_ids), _LIVING)
    return [_process(row) for row in tx.execute(query.order_by(cluster_process.c.created_at, cluster_process.c.id))]


def of_jobs(tx: Connection, job_ids: Collection[str]) -> Mapping[str, tuple[ClusterProcess, Cluster]]:
    """The processes that these jobs are, each with its cluster, by the ids of the jobs."""
    if not job_ids:
        return {}
    rows = tx.execute(select(cluster_process).where(cluster_process.c.job_id.in_(job_ids))).all()
    owners = {row.cluster_id for row in rows}
    found = {one.id: one for one in _all(tx, _CLUSTERS.where(cluster.c.id.in_(owners)))} if owners else {}
    return {row.job_id: (_process(row), found[row.cluster_id]) for row in rows if row.cluster_id in found}


def note_problem(tx: Connection, job_id: str, problem: str) -> None:
    """What a process said before it gave up, unless it is known."""
    of_job = (cluster_process.c.job_id == job_id) & _LIVING
    tx.execute(cluster_process.update().where(of_job).values(problem=problem))


def forget_ended(tx: Connection, cluster_id: str) -> None:
    """Those that ended are told of by events; their jobs stay."""
    tx.execute(cluster_process.delete().where(cluster_process.c.cluster_id == cluster_id, ~_LIVING))


# Events ------------------------------------------------------------------------------------------------


def note(tx: Connection, cluster_id: str, at: datetime, said: Sequence[str]) -> None:
    if not said:
        return
    # What was said at one moment stays in the order of the list.
    for place, what in enumerate(said):
        identity = f"{place:04d}{new_id(16)}"
        tx.execute(cluster_event.insert().values(id=identity, cluster_id=cluster_id, at=at, what=what))
    kept = select(cluster_event.c.at).where(cluster_event.c.cluster_id == cluster_id)
    oldest = tx.scalar(kept.order_by(cluster_event.c.at.desc()).offset(MOST_EVENTS).limit(1))
    if oldest is not None:
        of_cluster = cluster_event.c.cluster_id == cluster_id
        tx.execute(cluster_event.delete().where(of_cluster, cluster_event.c.at <= oldest))


def events(tx: Connection, cluster_id: str, *, limit: int = 100) -> Sequence[ClusterEvent]:
    """Newest first."""
    query = select(cluster_event.c.at, cluster_event.c.what).where(cluster_event.c.cluster_id == cluster_id)
    newest = query.order_by(cluster_event.c.at.desc(), cluster_event.c.id.desc()).limit(limit)
    return [ClusterEvent(row.at, row.what) for row in tx.execute(newest)]


def _all(tx: Connection, query: Select[Any]) -> Sequence[Cluster]:
    return [_cluster(row) for row in tx.execute(query)]


def _cluster(row: Row[Any]) -> Cluster:
    return Cluster(
        **{
            **row._mapping,
            "spec": from_document(ClusterSpec, row.spec),
            "state": ClusterState(row.state),
            "reasons": tuple(row.reasons),
        }
    )


def _changing(value: Cluster) -> dict[str, Any]:
    return {
        "user_id": value.user_id,
        "changed_at": value.changed_at,
        "spec": to_document(value.spec),
        "wanted": value.wanted,
        "wanted_reason": value.wanted_reason,
        "fewer_since": value.fewer_since,
        "state": value.state.value,
        "reasons": list(value.reasons),
        "deleted_at": value.deleted_at,
    }


def _process(row: Row[Any]) -> ClusterProcess:
    return ClusterProcess(
        **{**row._mapping, "role": ClusterRole(row.role), "state": ClusterProcessState(row.state)}
    )  # fmt: skip


def _changing_process(value: ClusterProcess) -> dict[str, Any]:
    return {
        "state": value.state.value,
        "ready_at": value.ready_at,
        "retiring_at": value.retiring_at,
        "placement_id": value.placement_id,
        "ready": dict(value.ready),
        "problem": value.problem,
    }
