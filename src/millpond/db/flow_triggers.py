"""Triggers of the newest versions of flows."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, and_, or_, select

from millpond.db.tables import dataset, flow, flow_trigger, ref
from millpond.model.dataset import RefType
from millpond.model.flow_trigger import Branch, SavedTrigger, TriggerType

_KEPT = and_(flow_trigger.c.removed_at.is_(None), flow.c.deleted_at.is_(None))
_ENABLED = and_(_KEPT, flow_trigger.c.disabled_at.is_(None))
_TRIGGERS = select(flow_trigger, flow.c.name.label("flow")).join(flow, flow.c.id == flow_trigger.c.flow_id)
_FIELDS = tuple(one.name for one in fields(SavedTrigger) if one.name not in ("flow", "watched", "type"))


@dataclass(frozen=True, slots=True)
class MovedBranch:
    """A trigger whose branch has another newest commit than it has looked at."""

    trigger: SavedTrigger
    dataset_id: str
    head: str


def insert(tx: Connection, value: SavedTrigger) -> None:
    tx.execute(flow_trigger.insert().values(**_values(value)))


def save(tx: Connection, value: SavedTrigger) -> None:
    """Only for one read by `lock` in the same transaction, or while its flow is locked."""
    tx.execute(flow_trigger.update().where(flow_trigger.c.id == value.id).values(**_values(value)))


def remove(tx: Connection, trigger_ids: Collection[str], now: datetime) -> None:
    """What they fired stays; their secrets go."""
    query = flow_trigger.update().where(flow_trigger.c.id.in_(list(trigger_ids)))
    tx.execute(query.values(removed_at=now, secret=None))


def get(tx: Connection, trigger_id: str) -> SavedTrigger | None:
    """None also for one that was removed."""
    row = tx.execute(_TRIGGERS.where(flow_trigger.c.id == trigger_id, _KEPT)).first()
    return _trigger(row) if row else None


def lock(tx: Connection, trigger_id: str) -> SavedTrigger | None:
    query = _TRIGGERS.where(flow_trigger.c.id == trigger_id, _KEPT).with_for_update(of=flow_trigger)
    row = tx.execute(query).first()
    return _trigger(row) if row else None


def of_flows(tx: Connection, flow_ids: Collection[str]) -> Sequence[SavedTrigger]:
    """By flow and place in the file."""
    query = _TRIGGERS.where(flow_trigger.c.flow_id.in_(list(flow_ids)), _KEPT)
    return [_trigger(row) for row in tx.execute(query.order_by(flow.c.name, flow_trigger.c.position))]


def of_project(tx: Connection, project_id: str) -> Sequence[SavedTrigger]:
    """By flow and place in the file."""
    query = _TRIGGERS.where(flow_trigger.c.project_id == project_id, _KEPT)
    return [_trigger(row) for row in tx.execute(query.order_by(flow.c.name, flow_trigger.c.position))]


def due(tx: Connection, now: datetime) -> Sequence[SavedTrigger]:
    """Schedules whose next time has come."""
    query = _TRIGGERS.where(flow_trigger.c.next_at <= now, _ENABLED).order_by(flow_trigger.c.next_at)
    return [_trigger(row) for row in tx.execute(query)]


def moved(tx: Connection) -> Sequence[MovedBranch]:
    """Commit triggers whose branch has moved since they were last looked at."""
    query = (
        _TRIGGERS.add_columns(dataset.c.id.label("dataset_id"), ref.c.commit_id.label("head"))
        .join(
            dataset,
            and_(
                dataset.c.project_id == flow_trigger.c.watched_project_id,
                dataset.c.name == flow_trigger.c.watched_dataset,
                dataset.c.deleted_at.is_(None),
            ),
        )
        .join(
            ref,
            and_(
                ref.c.dataset_id == dataset.c.id,
                ref.c.name == flow_trigger.c.watched_branch,
                ref.c.type == RefType.BRANCH.value,
            ),
        )
        .where(
            _ENABLED,
            flow_trigger.c.type == TriggerType.COMMIT.value,
            or_(flow_trigger.c.seen.is_(None), flow_trigger.c.seen != ref.c.commit_id),
        )
    )
    return [MovedBranch(_trigger(row), row.dataset_id, row.head) for row in tx.execute(query)]


def after_flow(
    tx: Connection, project_id: str, flow_name: str, *, also_disabled: bool = False
) -> Sequence[SavedTrigger]:
    """Triggers that wait for the end of this flow."""
    query = _TRIGGERS.where(flow_trigger.c.project_id == project_id, flow_trigger.c.upstream == flow_name)
    return [_trigger(row) for row in tx.execute(query.where(_KEPT if also_disabled else _ENABLED))]


def watching(tx: Connection, branches: Collection[Branch]) -> Sequence[SavedTrigger]:
    """Commit triggers of these branches, enabled or not."""
    wanted = [
        and_(
            flow_trigger.c.watched_project_id == one.project_id,
            flow_trigger.c.watched_dataset == one.dataset,
            flow_trigger.c.watched_branch == one.branch,
        )
        for one in branches
    ]
    if not wanted:
        return []
    return [_trigger(row) for row in tx.execute(_TRIGGERS.where(_KEPT, or_(*wanted)))]


def _values(value: SavedTrigger) -> dict[str, Any]:
    watched = value.watched
    return {name: getattr(value, name) for name in _FIELDS} | {
        "type": value.type.value,
        "watched_project_id": watched.project_id if watched else None,
        "watched_dataset": watched.dataset if watched else None,
        "watched_branch": watched.branch if watched else None,
    }


def _trigger(row: Row[Any]) -> SavedTrigger:
    watched = None
    if row.watched_dataset is not None:
        watched = Branch(row.watched_project_id, row.watched_dataset, row.watched_branch)
    values = {name: row._mapping[name] for name in _FIELDS}
    return SavedTrigger(**values, flow=row.flow, watched=watched, type=TriggerType(row.type))
