"""Command lines that wait until somebody confirms their code."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, func, select

from millpond.db.tables import device_login
from millpond.model.sign_in import DeviceLogin


def insert(tx: Connection, value: DeviceLogin, *, hash: bytes) -> None:
    tx.execute(
        device_login.insert().values(
            id=value.id,
            hash=hash,
            user_code=value.user_code,
            machine=value.machine,
            address=value.address,
            created_at=value.created_at,
            expires_at=value.expires_at,
            denied=False,
        )
    )


def find_by_hash(tx: Connection, hash: bytes) -> DeviceLogin | None:
    row = tx.execute(select(device_login).where(device_login.c.hash == hash)).first()
    return _value(row) if row else None


def find_by_code(tx: Connection, user_code: str) -> DeviceLogin | None:
    row = tx.execute(select(device_login).where(device_login.c.user_code == user_code)).first()
    return _value(row) if row else None


def answer(tx: Connection, login_id: str, *, user_id: str | None) -> bool:
    """Confirmed by this user, or denied for None; whether nobody had answered before."""
    open_still = (device_login.c.id == login_id) & device_login.c.user_id.is_(None) & ~device_login.c.denied
    values: dict[str, Any] = {"denied": True} if user_id is None else {"user_id": user_id}
    return tx.execute(device_login.update().where(open_still).values(**values)).rowcount > 0


def take(tx: Connection, login_id: str) -> bool:
    """Remove it; whether it was still there."""
    return tx.execute(device_login.delete().where(device_login.c.id == login_id)).rowcount > 0


def count(tx: Connection) -> int:
    return tx.scalar(select(func.count()).select_from(device_login)) or 0


def delete_expired(tx: Connection, now: datetime) -> int:
    return tx.execute(device_login.delete().where(device_login.c.expires_at <= now)).rowcount


def _value(row: Row[Any]) -> DeviceLogin:
    return DeviceLogin(
        id=row.id,
        user_code=row.user_code,
        machine=row.machine,
        address=row.address,
        created_at=row.created_at,
        expires_at=row.expires_at,
        user_id=row.user_id,
        denied=row.denied,
    )
