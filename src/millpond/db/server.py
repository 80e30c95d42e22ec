"""The one row that says which database this is, which secret it signs with and which lake it belongs to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, or_, select

from millpond.db.tables import server

_ONLY = 1
_ROW = select(server).where(server.c.id == _ONLY)


@dataclass(frozen=True, slots=True)
class ServerRow:
    database_id: str
    lake_id: str | None
    # In the clear; chance once it was sealed (services/signing_secret.py).
    secret: bytes
    created_at: datetime
    # The owner record of the lake since which the database was compared with it.
    epoch: int | None = None


def get(tx: Connection) -> ServerRow | None:
    """None before the first start is done."""
    row = tx.execute(_ROW).first()
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


@dataclass(frozen=True, slots=True)
class SealedSecret:
    secret: bytes
    at: datetime
    # True once nobody reads the secret in the clear any more.
    is_hidden: bool


def sealed_secret(tx: Connection) -> SealedSecret | None:
    """None in a database that only servers of 0.2 have used."""
    columns = (server.c.sealed_secret, server.c.sealed_at, server.c.secret_hidden)
    row = tx.execute(select(*columns).where(server.c.id == _ONLY)).first()
    if row is None or row.sealed_secret is None:
        return None
    return SealedSecret(row.sealed_secret, row.sealed_at, row.secret_hidden)


def seal_secret(tx: Connection, sealed: bytes, at: datetime) -> bool:
    """False if it is sealed already."""
    first = server.update().where(server.c.id == _ONLY, server.c.sealed_secret.is_(None))
    return tx.execute(first.values(sealed_secret=sealed, sealed_at=at)).rowcount > 0


def reseal_secret(tx: Connection, sealed: bytes) -> None:
    tx.execute(server.update().where(server.c.id == _ONLY).values(sealed_secret=sealed))


def hide_secret(tx: Connection, chance: bytes) -> None:
    """Put `chance` where the secret was in the clear."""
    _overwrite(tx, {"secret": chance, "secret_hidden": True})


def replace_secret(tx: Connection, sealed: bytes, chance: bytes, at: datetime) -> None:
    _overwrite(tx, {"sealed_secret": sealed, "sealed_at": at, "secret": chance, "secret_hidden": True})


def _overwrite(tx: Connection, changed: Mapping[str, object]) -> None:
    """Change the row so that a file of SQLite holds nothing of what it was: a page that becomes empty is wiped."""
    if tx.dialect.name != "sqlite":
        tx.execute(server.update().where(server.c.id == _ONLY).values(changed))
        return
    row = tx.execute(select(server).where(server.c.id == _ONLY)).one()
    before = tx.exec_driver_sql("PRAGMA secure_delete").scalar()
    tx.exec_driver_sql("PRAGMA secure_delete=ON")
    tx.execute(server.delete())
    tx.execute(server.insert().values({**row._mapping, **changed}))
    tx.exec_driver_sql(f"PRAGMA secure_delete={before}")


def take_collector(tx: Connection, who: str, *, now: datetime, until: datetime) -> bool:
    """Whether `who` alone may remove objects of the lake until then. Taking it again makes it longer."""
    is_free = or_(server.c.collector.is_(None), server.c.collector == who, server.c.collector_until < now)
    taken = server.update().where(server.c.id == _ONLY, is_free).values(collector=who, collector_until=until)
    return tx.execute(taken).rowcount > 0


def release_collector(tx: Connection, who: str | None = None) -> None:
    """From `who`, or from whoever has it."""
    key = server.c.id == _ONLY if who is None else (server.c.id == _ONLY) & (server.c.collector == who)
    tx.execute(server.update().where(key).values(collector=None, collector_until=None))


def has_local_login(tx: Connection) -> bool:
    """True while people may sign in with a password kept here."""
    return bool(tx.scalar(select(server.c.local_login).where(server.c.id == _ONLY)))


def set_local_login(tx: Connection, *, on: bool) -> None:
    tx.execute(server.update().where(server.c.id == _ONLY).values(local_login=on))


def set_lake(tx: Connection, lake_id: str) -> None:
    tx.execute(server.update().where(server.c.id == _ONLY).values(lake_id=lake_id))


def set_epoch(tx: Connection, epoch: int) -> None:
    tx.execute(server.update().where(server.c.id == _ONLY).values(epoch=epoch))
