"""The server processes of one database, while they run. Moments are of the database's clock, which is one for all."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection, Row, func, select

from millpond.db.tables import server_process
from millpond.model.server_process import ServerProcess


def put(tx: Connection, value: ServerProcess) -> None:
    """Note that it runs."""
    seen = server_process.update().where(server_process.c.id == value.id).values(seen_at=func.now())
    if tx.execute(seen).rowcount:
        return
    tx.execute(
        server_process.insert().values(
            id=value.id, host=value.host, url=value.url, version=value.version, key_mark=value.key_mark,
            started_at=func.now(), seen_at=func.now(),
        )
    )  # fmt: skip


def remove(tx: Connection, process_id: str) -> None:
    tx.execute(server_process.delete().where(server_process.c.id == process_id))


def forget(tx: Connection, *, before: datetime) -> None:
    tx.execute(server_process.delete().where(server_process.c.seen_at < before))


def all_of(tx: Connection) -> Sequence[ServerProcess]:
    """The oldest first."""
    rows = tx.execute(select(server_process).order_by(server_process.c.started_at, server_process.c.id))
    return [_process(row) for row in rows]


def now(tx: Connection) -> datetime:
    """What the database's clock shows."""
    return tx.execute(select(func.now())).scalar_one()


def _process(row: Row[tuple[object, ...]]) -> ServerProcess:
    return ServerProcess(
        id=row.id, host=row.host, url=row.url, version=row.version, key_mark=row.key_mark,
        started_at=row.started_at, seen_at=row.seen_at,
    )  # fmt: skip
