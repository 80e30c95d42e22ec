"""Wrong passwords of the last minutes, by name and by address, counted for all servers of the database."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import Connection, select

from millpond.db.tables import login_failure


def add(tx: Connection, keys: Collection[bytes], now: datetime) -> None:
    tx.execute(login_failure.insert(), [{"key": key, "failed_at": now} for key in keys])


def recent(tx: Connection, key: bytes, *, since: datetime, limit: int) -> Sequence[datetime]:
    """When the newest were, the newest first."""
    query = select(login_failure.c.failed_at).where(login_failure.c.key == key, login_failure.c.failed_at > since)
    return tx.scalars(query.order_by(login_failure.c.failed_at.desc()).limit(limit)).all()


def forget(tx: Connection, *, before: datetime) -> None:
    tx.execute(login_failure.delete().where(login_failure.c.failed_at <= before))
