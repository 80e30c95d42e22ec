"""The record of what left volumes and why, and of what was refused there."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, Select, and_, or_, select

from millpond.db.insert import insert_missing
from millpond.db.tables import commit, dataset, eviction, project, refusal, volume
from millpond.model.ids import new_id
from millpond.model.volume import CachedCommit, Cause


@dataclass(frozen=True, slots=True)
class EvictionView:
    id: str
    volume: str
    dataset: str
    commit_id: str
    bytes: int
    reason: str
    at: datetime
    cause: Cause | None = None
    by: str | None = None


@dataclass(frozen=True, slots=True)
class RefusalView:
    volume: str
    dataset: str
    commit_id: str
    by: str
    reason: str
    at: datetime


def record(
    tx: Connection,
    value: CachedCommit,
    *,
    reason: str,
    now: datetime,
    cause: Cause | None = None,
    freed: int | None = None,
) -> None:
    """`freed` is what its going gave back, which is less than it had where others share its files."""
    tx.execute(
        eviction.insert().values(
            id=new_id(),
            volume_id=value.volume_id,
            project_id=value.project_id,
            dataset_id=value.dataset_id,
            commit_id=value.commit_id,
            bytes=value.reserved_bytes if freed is None else freed,
            reason=reason,
            at=now,
            cause=found.value if (found := cause or value.cause) else "",
            by=value.cleared_by,
        )
    )


def newest(
    tx: Connection,
    *,
    among: Collection[str] | None,
    limit: int,
    before: tuple[datetime, str] | None = None,
    volume_id: str | None = None,
) -> Sequence[EvictionView]:
    """Newest first, behind the (time, id) `before`."""
    query = _select().limit(limit)
    if volume_id is not None:
        query = query.where(eviction.c.volume_id == volume_id)
    if among is not None:
        query = query.where(eviction.c.project_id.in_(among))
    if before is not None:
        at, key = before
        query = query.where(or_(eviction.c.at < at, and_(eviction.c.at == at, eviction.c.id < key)))
    return [_view(row) for row in tx.execute(query)]


def of_commit(tx: Connection, commit_id: str, *, among: Collection[str] | None) -> Sequence[EvictionView]:
    """The evictions of one commit, newest first."""
    query = _select().where(eviction.c.commit_id == commit_id)
    if among is not None:
        query = query.where(eviction.c.project_id.in_(among))
    return [_view(row) for row in tx.execute(query)]


def note_refusal(
    tx: Connection, *, volume_id: str, commit_id: str, project_id: str, by: str, reason: str, now: datetime
) -> bool:
    """In place of an earlier refusal of the same commit there; True if there was none. Of several at one moment, one
    stays."""
    said = {"by": by, "reason": reason, "at": now}
    mine = and_(refusal.c.volume_id == volume_id, refusal.c.commit_id == commit_id)
    if tx.execute(refusal.update().where(mine).values(**said)).rowcount:
        return False
    row = {"volume_id": volume_id, "commit_id": commit_id, "project_id": project_id, **said}
    insert_missing(tx, refusal, [row])
    return True


def forget_refusal(tx: Connection, volume_id: str, commit_id: str) -> None:
    tx.execute(refusal.delete().where(refusal.c.volume_id == volume_id, refusal.c.commit_id == commit_id))


def refusals(tx: Connection, commit_id: str) -> Sequence[RefusalView]:
    return _refusals(tx, _select_refusals().where(refusal.c.commit_id == commit_id).order_by(volume.c.name))


def newest_refusals(
    tx: Connection, *, among: Collection[str] | None, limit: int, volume_id: str | None = None
) -> Sequence[RefusalView]:
    query = _select_refusals().order_by(refusal.c.at.desc(), refusal.c.commit_id).limit(limit)
    if among is not None:
        query = query.where(refusal.c.project_id.in_(among))
    if volume_id is not None:
        query = query.where(refusal.c.volume_id == volume_id)
    return _refusals(tx, query)


def _select_refusals() -> Select[Any]:
    return (
        select(refusal, volume.c.name.label("volume"), dataset.c.name.label("dataset"), project.c.name.label("project"))
        .join(volume, volume.c.id == refusal.c.volume_id)
        .join(commit, commit.c.id == refusal.c.commit_id)
        .join(dataset, dataset.c.id == commit.c.dataset_id)
        .join(project, project.c.id == refusal.c.project_id)
        .where(dataset.c.deleted_at.is_(None))
    )


def _refusals(tx: Connection, query: Select[Any]) -> Sequence[RefusalView]:
    return [
        RefusalView(row.volume, f"{row.project}/{row.dataset}", row.commit_id, row.by, row.reason, row.at)
        for row in tx.execute(query)
    ]


def _select() -> Select[Any]:
    return (
        select(
            eviction, volume.c.name.label("volume"), dataset.c.name.label("dataset"), project.c.name.label("project")
        )
        .join(volume, volume.c.id == eviction.c.volume_id)
        .join(project, project.c.id == eviction.c.project_id)
        .join(dataset, dataset.c.id == eviction.c.dataset_id)
        .order_by(eviction.c.at.desc(), eviction.c.id.desc())
    )


def _view(row: Row[Any]) -> EvictionView:
    return EvictionView(
        id=row.id,
        volume=row.volume,
        dataset=f"{row.project}/{row.dataset}",
        commit_id=row.commit_id,
        bytes=row.bytes,
        reason=row.reason,
        at=row.at,
        cause=Cause(row.cause) if row.cause else None,
        by=row.by,
    )
