"""Requests made with an `Idempotency-Key`: the key is written with the first thing that the request changes.

So a request that changed something is known by its key, whatever became of the server that worked on it.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, select
from sqlalchemy.exc import IntegrityError

from millpond.db.tables import request_key
from millpond.errors import Unavailable

WORKED_ON = "An earlier try of this request is still being worked on."


@dataclass
class PendingKey:
    """Of the request that is being worked on; `written` once something was changed with it."""

    key: bytes
    made_at: datetime
    server: str
    written: bool = False


@dataclass(frozen=True, slots=True)
class KnownRequest:
    """`status` is None until the request has been done, or for ever if it was cut off."""

    made_at: datetime
    server: str
    location: str | None
    status: int | None
    media_type: str | None
    body: bytes | None


PENDING: ContextVar[PendingKey | None] = ContextVar("millpond_request_key", default=None)


def insert(tx: Connection, pending: PendingKey) -> None:
    """Unavailable while another try of the same request is being worked on."""
    try:
        tx.execute(request_key.insert().values(key=pending.key, made_at=pending.made_at, server=pending.server))
    except IntegrityError as error:
        raise Unavailable(WORKED_ON, hint="Try again in a moment.") from error


def find(tx: Connection, key: bytes) -> KnownRequest | None:
    row = tx.execute(select(request_key).where(request_key.c.key == key)).first()
    return KnownRequest(row.made_at, row.server, row.location, row.status, row.media_type, row.body) if row else None


def note_made(tx: Connection, location: str) -> None:
    """Of the request that is being worked on, if it has a key: what it made is read there (a path of the API)."""
    pending = PENDING.get()
    if pending is not None:
        first = (request_key.c.key == pending.key) & request_key.c.location.is_(None)
        tx.execute(request_key.update().where(first).values(location=location))


def answer(tx: Connection, key: bytes, *, status: int, media_type: str, body: bytes) -> None:
    values = {"status": status, "media_type": media_type, "body": body}
    tx.execute(request_key.update().where(request_key.c.key == key).values(**values))


def remove(tx: Connection, key: bytes) -> None:
    tx.execute(request_key.delete().where(request_key.c.key == key))


def forget(tx: Connection, *, before: datetime) -> int:
    return tx.execute(request_key.delete().where(request_key.c.made_at < before)).rowcount
