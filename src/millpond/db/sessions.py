"""Browser sessions, found by the SHA-256 of their cookie."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, select

from millpond.db.tables import session
from millpond.model.people import Session


def insert(tx: Connection, value: Session, *, hash: bytes, sign_out: bytes | None = None) -> None:
    """`sign_out`: where the provider's session is ended, sealed."""
    tx.execute(
        session.insert().values(
            hash=hash,
            csrf=value.csrf,
            user_id=value.user_id,
            created_at=value.created_at,
            expires_at=value.expires_at,
            address=value.address,
            user_agent=value.user_agent,
            last_used_at=value.last_used_at,
            provider_id=value.provider_id,
            provider_session=value.provider_session,
            sign_out=sign_out,
        )
    )


def find(tx: Connection, hash: bytes) -> Session | None:
    row = tx.execute(select(session).where(session.c.hash == hash)).first()
    return _session(row) if row else None


def of_user(tx: Connection, user_id: str, *, now: datetime) -> Sequence[Session]:
    """Those that are not over, the one used last first."""
    query = select(session).where(session.c.user_id == user_id, session.c.expires_at > now)
    found = [_session(row) for row in tx.execute(query)]
    return sorted(found, key=lambda one: one.last_used_at or one.created_at, reverse=True)


def sign_out_url(tx: Connection, hash: bytes) -> bytes | None:
    """Where the provider's session is ended, sealed."""
    return tx.scalar(select(session.c.sign_out).where(session.c.hash == hash))


def used(tx: Connection, hash: bytes, at: datetime) -> None:
    tx.execute(session.update().where(session.c.hash == hash).values(last_used_at=at))


def delete(tx: Connection, hash: bytes) -> None:
    tx.execute(session.delete().where(session.c.hash == hash))


def delete_of_user(tx: Connection, user_id: str, *, but: bytes | None = None) -> int:
    """End the sessions of one user, all `but` one; how many there were."""
    query = session.delete().where(session.c.user_id == user_id)
    if but is not None:
        query = query.where(session.c.hash != but)
    return tx.execute(query).rowcount


def delete_one(tx: Connection, user_id: str, session_id: str) -> bool:
    """Whether this user had a session of that id."""
    hashes = tx.scalars(select(session.c.hash).where(session.c.user_id == user_id))
    found = next((hash for hash in hashes if id_of(hash) == session_id), None)
    if found is not None:
        delete(tx, found)
    return found is not None


def delete_of_provider(tx: Connection, provider_id: str, *, user_id: str | None, provider_session: str | None) -> int:
    """Those that a provider ended: of a user, or the one that it calls so; how many there were."""
    query = session.delete().where(session.c.provider_id == provider_id)
    if user_id is not None:
        query = query.where(session.c.user_id == user_id)
    if provider_session is not None:
        query = query.where(session.c.provider_session == provider_session)
    return tx.execute(query).rowcount


def users_of_provider_session(tx: Connection, provider_id: str, provider_session: str) -> Sequence[str]:
    query = select(session.c.user_id).distinct().where(session.c.provider_id == provider_id)
    return tx.scalars(query.where(session.c.provider_session == provider_session)).all()


def delete_expired(tx: Connection, now: datetime) -> int:
    return tx.execute(session.delete().where(session.c.expires_at <= now)).rowcount


def id_of(hash: bytes) -> str:
    """Says which session to people."""
    return hash.hex()[:16]


def _session(row: Row[Any]) -> Session:
    return Session(
        user_id=row.user_id,
        csrf=row.csrf,
        created_at=row.created_at,
        expires_at=row.expires_at,
        address=row.address,
        user_agent=row.user_agent,
        last_used_at=row.last_used_at,
        provider_id=row.provider_id,
        provider_session=row.provider_session,
        id=id_of(row.hash),
    )
