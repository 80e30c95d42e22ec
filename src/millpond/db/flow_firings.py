"""What set triggers off, and what came of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, select, tuple_

from millpond.db.insert import insert_missing
from millpond.db.tables import flow_firing
from millpond.model.flow_trigger import Firing, FiringState

_FIELDS = tuple(one.name for one in fields(Firing))
_WAITING = flow_firing.c.ended_at.is_(None)


def insert(tx: Connection, value: Firing) -> bool:
    """False if the trigger has had this occurrence."""
    insert_missing(tx, flow_firing, [_values(value)])
    return get(tx, value.id) is not None


def save(tx: Connection, value: Firing) -> None:
    """Only for one read by `lock` in the same transaction."""
    tx.execute(flow_firing.update().where(flow_firing.c.id == value.id).values(**_values(value)))


def get(tx: Connection, firing_id: str) -> Firing | None:
    row = tx.execute(select(flow_firing).where(flow_firing.c.id == firing_id)).first()
    return _firing(row) if row else None


def lock(tx: Connection, firing_id: str) -> Firing | None:
    row = tx.execute(select(flow_firing).where(flow_firing.c.id == firing_id).with_for_update()).first()
    return _firing(row) if row else None


def find(tx: Connection, trigger_id: str, occurrence: str) -> Firing | None:
    query = select(flow_firing).where(flow_firing.c.trigger_id == trigger_id, flow_firing.c.occurrence == occurrence)
    row = tx.execute(query).first()
    return _firing(row) if row else None


def open_window(tx: Connection, trigger_id: str) -> Firing | None:
    """The one that gathers commits; locked."""
    query = select(flow_firing).where(flow_firing.c.trigger_id == trigger_id, _WAITING, flow_firing.c.commits > 0)
    row = tx.execute(query.where(flow_firing.c.manual.is_(False)).with_for_update()).first()
    return _firing(row) if row else None


def due(tx: Connection, now: datetime, *, limit: int) -> Sequence[Firing]:
    """Those that may start, the oldest first."""
    query = select(flow_firing).where(_WAITING, flow_firing.c.due_at <= now)
    query = query.order_by(flow_firing.c.due_at, flow_firing.c.created_at, flow_firing.c.id).limit(limit)
    return [_firing(row) for row in tx.execute(query)]


def page(
    tx: Connection, flow_id: str, *, trigger_id: str | None, states: Collection[FiringState] | None, limit: int,
    before: tuple[datetime, str] | None = None,
) -> Sequence[Firing]:  # fmt: skip
    """Newest first."""
    query = select(flow_firing).where(flow_firing.c.flow_id == flow_id)
    if trigger_id is not None:
        query = query.where(flow_firing.c.trigger_id == trigger_id)
    if states is not None:
        query = query.where(flow_firing.c.state.in_([state.value for state in states]))
    if before is not None:
        query = query.where(tuple_(flow_firing.c.created_at, flow_firing.c.id) < tuple_(*before))
    query = query.order_by(flow_firing.c.created_at.desc(), flow_firing.c.id.desc()).limit(limit)
    return [_firing(row) for row in tx.execute(query)]


def newest(tx: Connection, trigger_ids: Collection[str]) -> Mapping[str, Firing]:
    """The newest of each trigger that has any."""
    found: dict[str, Firing] = {}
    for trigger_id in trigger_ids:  # a project has tens of them; each is one look into an index
        query = select(flow_firing).where(flow_firing.c.trigger_id == trigger_id)
        row = tx.execute(query.order_by(flow_firing.c.created_at.desc(), flow_firing.c.id.desc()).limit(1)).first()
        if row is not None:
            found[trigger_id] = _firing(row)
    return found


def _values(value: Firing) -> dict[str, Any]:
    return {name: getattr(value, name) for name in _FIELDS} | {"state": value.state.value}


def _firing(row: Row[Any]) -> Firing:
    return Firing(**{name: row._mapping[name] for name in _FIELDS} | {"state": FiringState(row.state)})
