"""The one row that says which database this is, which secret it signs with and which lake it belongs to."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, select

from millpond.db.tables import server

_ONLY = 1


@dataclass(frozen=True, slots=True)
class ServerRow:
    database_id: str
    lake_id: str | None
    secret: bytes
    created_at: datetime


def get(tx: Connection) -> ServerRow | None:
    """None before the first start is done."""
    row = tx.execute(select(server).where(server.c.id == _ONLY)).first()
    return ServerRow(row.database_id, row.lake_id, row.secret, row.created_at) if row else None


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


def set_lake(tx: Connection, lake_id: str) -> None:
    tx.execute(server.update().where(server.c.id == _ONLY).values(lake_id=lake_id))
