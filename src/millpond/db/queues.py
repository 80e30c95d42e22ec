"""Queues by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection, Row, select

from millpond.db.tables import queue
from millpond.model.template import Queue, QueueEntry


def insert(tx: Connection, value: Queue) -> None:
    """IntegrityError when the name is taken."""
    tx.execute(queue.insert().values(**asdict(value)))


def change(tx: Connection, value: Queue) -> None:
    tx.execute(queue.update().where(queue.c.id == value.id).values(**asdict(value)))


def find(tx: Connection, name: str) -> Queue | None:
    row = tx.execute(select(queue).where(queue.c.name == name)).first()
    return _value(row) if row else None


def by_name(tx: Connection) -> Mapping[str, Queue]:
    return {row.name: _value(row) for row in tx.execute(select(queue).order_by(queue.c.name))}


def page(tx: Connection, *, limit: int, after: str = "") -> Sequence[Queue]:
    """At most `limit` of them by name, behind the name `after`."""
    query = select(queue).where(queue.c.name > after).order_by(queue.c.name).limit(limit)
    return [_value(row) for row in tx.execute(query)]


def with_template(tx: Connection, name: str) -> Sequence[Queue]:
    return [one for one in by_name(tx).values() if any(entry.template == name for entry in one.templates)]


def delete(tx: Connection, queue_id: str) -> None:
    tx.execute(queue.delete().where(queue.c.id == queue_id))


def _value(row: Row[Any]) -> Queue:
    return Queue(**{**row._mapping, "templates": tuple(QueueEntry(**entry) for entry in row.templates)})
