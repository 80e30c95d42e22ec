"""Snapshots of workspaces and the schedules that take them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, Select, case, func, select

from millpond.db.tables import workspace, workspace_schedule, workspace_snapshot
from millpond.model.documents import from_document, to_document
from millpond.model.workspace import (
    Consistency,
    KeepRule,
    SnapshotOrigin,
    SnapshotSchedule,
    SnapshotState,
    WorkspaceSnapshot,
)

_snapshot, _schedule = workspace_snapshot, workspace_schedule


@dataclass(frozen=True, slots=True)
class Counted:
    """The snapshots of a workspace: how many, what their near copies take, and when the newest was taken."""

    count: int = 0
    near_bytes: int = 0
    newest_at: datetime | None = None


def insert(tx: Connection, value: WorkspaceSnapshot) -> None:
    """IntegrityError when the workspace has one of that name."""
    tx.execute(_snapshot.insert().values(**_values(value)))


def save(tx: Connection, value: WorkspaceSnapshot) -> None:
    """Only while its workspace is locked."""
    mine = (_snapshot.c.workspace_id == value.workspace_id) & (_snapshot.c.number == value.number)
    tx.execute(_snapshot.update().where(mine).values(**_values(value)))


def delete(tx: Connection, workspace_id: str, number: int) -> None:
    mine = (_snapshot.c.workspace_id == workspace_id) & (_snapshot.c.number == number)
    tx.execute(_snapshot.delete().where(mine))


def get(tx: Connection, workspace_id: str, number: int) -> WorkspaceSnapshot | None:
    query = select(_snapshot).where(_snapshot.c.workspace_id == workspace_id, _snapshot.c.number == number)
    row = tx.execute(query).first()
    return _to_snapshot(row) if row else None


def of_workspace(tx: Connection, workspace_id: str) -> Sequence[WorkspaceSnapshot]:
    """Oldest first."""
    return of_workspaces(tx, [workspace_id]).get(workspace_id, ())


def of_workspaces(tx: Connection, ids: Collection[str]) -> Mapping[str, Sequence[WorkspaceSnapshot]]:
    """By workspace, oldest first."""
    query = select(_snapshot).where(_snapshot.c.workspace_id.in_(sorted(ids)))
    found: dict[str, list[WorkspaceSnapshot]] = {}
    for row in tx.execute(query.order_by(_snapshot.c.workspace_id, _snapshot.c.number)) if ids else ():
        found.setdefault(row.workspace_id, []).append(_to_snapshot(row))
    return found


def counted(tx: Connection, ids: Collection[str]) -> Mapping[str, Counted]:
    """By workspace, those that are there."""
    there = [SnapshotState.NEAR.value, SnapshotState.KEPT.value]
    near = func.sum(case((_snapshot.c.is_near, _snapshot.c.unique_bytes), else_=0))
    query = select(_snapshot.c.workspace_id, func.count(), near, func.max(_snapshot.c.taken_at))
    query = query.where(_snapshot.c.workspace_id.in_(sorted(ids)), _snapshot.c.state.in_(there))
    rows = tx.execute(query.group_by(_snapshot.c.workspace_id)) if ids else ()
    return {workspace_id: Counted(count, int(size or 0), newest) for workspace_id, count, size, newest in rows}


def by_commit(tx: Connection, commit_id: str) -> Sequence[WorkspaceSnapshot]:
    return _all(tx, select(_snapshot).where(_snapshot.c.commit_id == commit_id))


def of_run(tx: Connection, run_id: str) -> Sequence[WorkspaceSnapshot]:
    """Oldest first."""
    return _all(tx, select(_snapshot).where(_snapshot.c.run_id == run_id).order_by(_snapshot.c.created_at))


def in_state(tx: Connection, state: SnapshotState) -> Sequence[WorkspaceSnapshot]:
    query = select(_snapshot).where(_snapshot.c.state == state.value)
    return _all(tx, query.order_by(_snapshot.c.workspace_id, _snapshot.c.number))


def with_rules(tx: Connection) -> Sequence[str]:
    """Ids of workspaces that have snapshots of a series, for which there may be a rule."""
    return tx.scalars(select(_snapshot.c.workspace_id).where(_snapshot.c.series != "").distinct()).all()


# Schedules -------------------------------------------------------------------------------------------


def put_schedule(tx: Connection, value: SnapshotSchedule) -> None:
    """Replaces that of the same series."""
    remove_schedule(tx, value.workspace_id, value.series)
    tx.execute(_schedule.insert().values(**(asdict(value) | {"keep": _rule(value.keep)})))


def save_schedule(tx: Connection, value: SnapshotSchedule) -> None:
    values = {"next_at": value.next_at, "last_at": value.last_at, "problem": value.problem}
    tx.execute(_schedule.update().where(_schedule.c.id == value.id).values(**values))


def remove_schedule(tx: Connection, workspace_id: str, series: str) -> bool:
    mine = (_schedule.c.workspace_id == workspace_id) & (_schedule.c.series == series)
    return tx.execute(_schedule.delete().where(mine)).rowcount > 0


def schedules(tx: Connection, workspace_id: str) -> Sequence[SnapshotSchedule]:
    query = select(_schedule).where(_schedule.c.workspace_id == workspace_id).order_by(_schedule.c.series)
    return [_to_schedule(row) for row in tx.execute(query)]


def due(tx: Connection, now: datetime) -> Sequence[SnapshotSchedule]:
    """Of living workspaces."""
    query = select(_schedule).join(workspace, workspace.c.id == _schedule.c.workspace_id)
    query = query.where(_schedule.c.next_at <= now, workspace.c.deleted_at.is_(None)).order_by(_schedule.c.next_at)
    return [_to_schedule(row) for row in tx.execute(query)]


def lock_schedule(tx: Connection, schedule_id: str) -> SnapshotSchedule | None:
    row = tx.execute(select(_schedule).where(_schedule.c.id == schedule_id).with_for_update()).first()
    return _to_schedule(row) if row else None


def _all(tx: Connection, query: Select[Any]) -> Sequence[WorkspaceSnapshot]:
    return [_to_snapshot(row) for row in tx.execute(query)]


def _to_snapshot(row: Row[Any]) -> WorkspaceSnapshot:
    return WorkspaceSnapshot(
        **{
            **row._mapping,
            "origin": SnapshotOrigin(row.origin),
            "state": SnapshotState(row.state),
            "consistency": Consistency(row.consistency) if row.consistency else None,
            "keep": from_document(KeepRule, row.keep) if row.keep else None,
        }
    )


def _to_schedule(row: Row[Any]) -> SnapshotSchedule:
    return SnapshotSchedule(**{**row._mapping, "keep": from_document(KeepRule, row.keep) if row.keep else None})


def _values(value: WorkspaceSnapshot) -> dict[str, Any]:
    return asdict(value) | {
        "origin": value.origin.value,
        "state": value.state.value,
        "consistency": value.consistency.value if value.consistency else None,
        "keep": _rule(value.keep),
    }


def _rule(rule: KeepRule | None) -> dict[str, Any] | None:
    return to_document(rule) if rule else None
