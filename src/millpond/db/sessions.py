"""Browser sessions, found by the SHA-256 of their cookie."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, select

from millpond.db.tables import session
from millpond.model.people import Session


def insert(tx: Connection, value: Session, *, hash: bytes) -> None:
    tx.execute(
        session.insert().values(
            hash=hash,
            csrf=value.csrf,
            user_id=value.user_id,
            created_at=value.created_at,
            expires_at=value.expires_at,
        )
    )


def find(tx: Connection, hash: bytes) -> Session | None:
    row = tx.execute(select(session).where(session.c.hash == hash)).first()
    if row is None:
        return None
    return Session(user_id=row.user_id, csrf=row.csrf, created_at=row.created_at, expires_at=row.expires_at)


def delete(tx: Connection, hash: bytes) -> None:
    tx.execute(session.delete().where(session.c.hash == hash))


def delete_of_user(tx: Connection, user_id: str, *, but: bytes | None = None) -> int:
    """End the sessions of one user, all `but` one; how many there were."""
    query = session.delete().where(session.c.user_id == user_id)
    if but is not None:
        query = query.where(session.c.hash != but)
    return tx.execute(query).rowcount


def delete_expired(tx: Connection, now: datetime) -> int:
    return tx.execute(session.delete().where(session.c.expires_at <= now)).rowcount
