"""The one row that says which database this is, which secret it signs with and which lake it belongs to."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, or_, select

from millpond.db.tables import server

_ONLY = 1


@dataclass(frozen=True, slots=True)
class ServerRow:
    database_id: str
    lake_id: str | None
    secret: bytes
    created_at: datetime
    # The owner record of the lake since which the database was compared with it.
    epoch: int | None = None


def get(tx: Connection) -> ServerRow | None:
    """None before the first start is done."""
    row = tx.execute(select(server).where(server.c.id == _ONLY)).first()
    return ServerRow(row.database_id, row.lake_id, row.secret, row.created_at, row.epoch) if row else None


def insert(tx: Connection, value: ServerRow) -> None:
    tx.execute(
        server.insert().values(
            id=_ONLY,
            database_id=value.database_id,
            lake_id=value.lake_id,
            secret=value.secret,
            created_at=value.created_at,
        )
    )


def take_collector(tx: Connection, who: str, *, now: datetime, until: datetime) -> bool:
    """Whether `who` alone may remove objects of the lake until then. Taking it again makes it longer."""
    is_free = or_(server.c.collector.is_(None), server.c.collector == who, server.c.collector_until < now)
    taken = server.update().where(server.c.id == _ONLY, is_free).values(collector=who, collector_until=until)
    return tx.execute(taken).rowcount > 0


def release_collector(tx: Connection, who: str | None = None) -> None:
    """From `who`, or from whoever has it."""
    key = server.c.id == _ONLY if who is None else (server.c.id == _ONLY) & (server.c.collector == who)
    tx.execute(server.update().where(key).values(collector=None, collector_until=None))


def set_lake(tx: Connection, lake_id: str) -> None:
    tx.execute(server.update().where(server.c.id == _ONLY).values(lake_id=lake_id))


def set_epoch(tx: Connection, epoch: int) -> None:
    tx.execute(server.update().where(server.c.id == _ONLY).values(epoch=epoch))
