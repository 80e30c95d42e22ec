"""Tokens of endpoints, and the keys that sign them. A token itself is stored nowhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, select

from millpond.db.tables import endpoint_token, signing_key
from millpond.model.endpoint import EndpointToken

_token = endpoint_token


@dataclass(frozen=True, slots=True)
class SigningKey:
    """`public` is base64, `private` is sealed."""

    id: str
    public: str
    private: bytes
    created_at: datetime


def insert(tx: Connection, value: EndpointToken) -> None:
    tx.execute(
        _token.insert().values(
            id=value.id, project_id=value.project_id, endpoint_id=value.endpoint_id, name=value.name,
            created_by=value.created_by, created_at=value.created_at, expires_at=value.expires_at, quota=value.quota,
            revoked_at=value.revoked_at,
        )
    )  # fmt: skip


def of_endpoint(tx: Connection, endpoint_id: str) -> Sequence[EndpointToken]:
    """Newest first."""
    query = select(_token).where(_token.c.endpoint_id == endpoint_id)
    return [_to_token(row) for row in tx.execute(query.order_by(_token.c.created_at.desc(), _token.c.id))]


def revoke(tx: Connection, endpoint_id: str, now: datetime, token_id: str | None = None) -> None:
    """One of the endpoint's tokens, or all of them."""
    mine = (_token.c.endpoint_id == endpoint_id) & _token.c.revoked_at.is_(None)
    if token_id is not None:
        mine &= _token.c.id == token_id
    tx.execute(_token.update().where(mine).values(revoked_at=now))


def revoked(tx: Connection, project_id: str, now: datetime) -> Sequence[str]:
    """Ids of tokens that were taken back and would still be valid."""
    query = select(_token.c.id).where(_token.c.project_id == project_id, _token.c.revoked_at.is_not(None))
    return tx.scalars(query.where(_token.c.expires_at > now).order_by(_token.c.id)).all()


def is_revoked(tx: Connection, token_id: str) -> bool:
    """True also for one that nobody knows."""
    row = tx.execute(select(_token.c.revoked_at).where(_token.c.id == token_id)).first()
    return row is None or row.revoked_at is not None


def keys(tx: Connection) -> Sequence[SigningKey]:
    """Oldest first; the newest signs."""
    rows = tx.execute(select(signing_key).order_by(signing_key.c.created_at, signing_key.c.id))
    return [SigningKey(row.id, row.public, row.private, row.created_at) for row in rows]


def public_keys(tx: Connection) -> Mapping[str, str]:
    return {one.id: one.public for one in keys(tx)}


def insert_key(tx: Connection, value: SigningKey) -> None:
    tx.execute(
        signing_key.insert().values(
            id=value.id, public=value.public, private=value.private, created_at=value.created_at
        )
    )  # fmt: skip


def _to_token(row: Row[Any]) -> EndpointToken:
    return EndpointToken(**row._mapping)
