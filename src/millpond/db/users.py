"""Users and their password hashes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, bindparam, select

from millpond.db.tables import user
from millpond.model.people import User

_COLUMNS = (
    user.c.id, user.c.name, user.c.full_name, user.c.is_admin, user.c.created_at, user.c.disabled_at, user.c.email,
    user.c.is_service,
)  # fmt: skip

# Made once: it is asked with every request.
_BY_ID = select(*_COLUMNS).where(user.c.id == bindparam("wanted"))


def insert(tx: Connection, value: User, *, password_hash: str) -> None:
    """IntegrityError when the name is taken."""
    tx.execute(
        user.insert().values(
            id=value.id,
            name=value.name,
            full_name=value.full_name,
            password_hash=password_hash,
            is_admin=value.is_admin,
            created_at=value.created_at,
            disabled_at=value.disabled_at,
            email=value.email or None,
            is_service=value.is_service,
        )
    )


def get(tx: Connection, user_id: str) -> User | None:
    row = tx.execute(_BY_ID, {"wanted": user_id}).first()
    return _user(row) if row else None


def find(tx: Connection, name: str) -> User | None:
    row = tx.execute(select(*_COLUMNS).where(user.c.name == name)).first()
    return _user(row) if row else None


def page(tx: Connection, *, limit: int, after: str = "") -> Sequence[User]:
    """At most `limit` users by name, behind the name `after`."""
    query = select(*_COLUMNS).where(user.c.name > after).order_by(user.c.name).limit(limit)
    return [_user(row) for row in tx.execute(query)]


def names(tx: Connection) -> Sequence[str]:
    return tx.scalars(select(user.c.name).order_by(user.c.name)).all()


def password_hash(tx: Connection, user_id: str) -> str:
    """Empty for somebody without a password: nobody can sign in with it."""
    return tx.scalar(select(user.c.password_hash).where(user.c.id == user_id)) or ""


def change(
    tx: Connection,
    user_id: str,
    *,
    full_name: str | None = None,
    password_hash: str | None = None,
    is_admin: bool | None = None,
    email: str | None = None,
) -> None:
    """Set what is not None."""
    wanted = {"full_name": full_name, "password_hash": password_hash, "is_admin": is_admin, "email": email}
    values = {name: value for name, value in wanted.items() if value is not None}
    if values:
        tx.execute(user.update().where(user.c.id == user_id).values(values))


def set_disabled(tx: Connection, user_id: str, at: datetime | None) -> None:
    tx.execute(user.update().where(user.c.id == user_id).values(disabled_at=at))


def delete(tx: Connection, user_id: str) -> None:
    """Roles, tokens and sessions go with the user."""
    tx.execute(user.delete().where(user.c.id == user_id))


def administrators(tx: Connection) -> Sequence[User]:
    """Site administrators that can still sign in, by name."""
    query = select(*_COLUMNS).where(user.c.is_admin, user.c.disabled_at.is_(None), ~user.c.is_service)
    return [_user(row) for row in tx.execute(query.order_by(user.c.name))]


def count_administrators(tx: Connection, *, without: str) -> int:
    """Site administrators that can still sign in, `without` one of them. They stay so until the transaction ends."""
    people = (user.c.is_admin, user.c.disabled_at.is_(None), ~user.c.is_service)
    query = select(user.c.id).where(*people).order_by(user.c.id)
    return sum(1 for found in tx.scalars(query.with_for_update()) if found != without)


def _user(row: Row[*tuple[Any, ...]]) -> User:
    return User(
        id=row.id,
        name=row.name,
        full_name=row.full_name,
        is_admin=row.is_admin,
        created_at=row.created_at,
        disabled_at=row.disabled_at,
        email=row.email or "",
        is_service=row.is_service,
    )
