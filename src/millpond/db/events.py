"""Events that the servers of one PostgreSQL tell each other, in the order in which they were committed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, func, select, text

from millpond.db.tables import event

CHANNEL = "mill_event"
# Numbers are given out and committed by one server after the other. Any fixed number would do.
_LOCK = 8421


@dataclass(frozen=True, slots=True)
class EventRow:
    number: int
    server: str
    kind: str
    topic: str
    project_id: str | None
    data: dict[str, Any]


def add(tx: Connection, server: str, rows: Collection[tuple[str, str, str | None, dict[str, Any]]]) -> None:
    """Write (kind, topic, project, data) for all servers, and wake those that listen when this is committed."""
    tx.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    values = [
        {"server": server, "kind": kind, "topic": topic, "project_id": project_id, "data": data}
        for kind, topic, project_id, data in rows
    ]
    tx.execute(event.insert(), values)
    notify(tx)


def notify(tx: Connection) -> None:
    """Wake all servers once this is committed."""
    tx.execute(text(f"NOTIFY {CHANNEL}"))


def after(tx: Connection, number: int, *, limit: int) -> Sequence[EventRow]:
    query = select(event).where(event.c.id > number).order_by(event.c.id).limit(limit)
    return [_row(row) for row in tx.execute(query)]


def newest(tx: Connection, *, limit: int) -> Sequence[EventRow]:
    """The last ones, in order."""
    query = select(event).order_by(event.c.id.desc()).limit(limit)
    return [_row(row) for row in reversed(tx.execute(query).all())]


def forget(tx: Connection, *, keep: int) -> None:
    """Remove all but the newest."""
    last = tx.scalar(select(func.max(event.c.id)))
    if last is not None:
        tx.execute(event.delete().where(event.c.id <= last - keep))


def _row(row: Any) -> EventRow:
    return EventRow(row.id, row.server, row.kind, row.topic, row.project_id, row.data)
