"""Who somebody at a provider is here."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, exists, select

from millpond.db.tables import identity
from millpond.model.sign_in import Identity


def insert(tx: Connection, value: Identity) -> None:
    """IntegrityError if they are somebody here already."""
    tx.execute(
        identity.insert().values(
            issuer=value.issuer,
            subject=value.subject,
            user_id=value.user_id,
            provider=value.provider,
            email=value.email,
            created_at=value.created_at,
            used_at=value.used_at,
        )
    )


def find(tx: Connection, issuer: str, subject: str) -> Identity | None:
    row = tx.execute(select(identity).where(_key(issuer, subject))).first()
    return _value(row) if row else None


def of_user(tx: Connection, user_id: str) -> Sequence[Identity]:
    query = select(identity).where(identity.c.user_id == user_id)
    return [_value(row) for row in tx.execute(query.order_by(identity.c.provider, identity.c.subject))]


def is_linked(tx: Connection, user_id: str) -> bool:
    return bool(tx.scalar(select(exists().where(identity.c.user_id == user_id))))


def used(tx: Connection, value: Identity, *, provider: str, email: str, at: datetime) -> None:
    values = {"used_at": at, "email": email, "provider": provider}
    tx.execute(identity.update().where(_key(value.issuer, value.subject)).values(**values))


def delete(tx: Connection, user_id: str, issuer: str, subject: str) -> bool:
    """Whether this user had it."""
    gone = identity.delete().where(_key(issuer, subject), identity.c.user_id == user_id)
    return tx.execute(gone).rowcount > 0


def _key(issuer: str, subject: str) -> Any:
    return (identity.c.issuer == issuer) & (identity.c.subject == subject)


def _value(row: Row[Any]) -> Identity:
    return Identity(row.issuer, row.subject, row.user_id, row.provider, row.email, row.created_at, row.used_at)
