"""API tokens, found by the SHA-256 of their secret."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, bindparam, func, select

from millpond.db.tables import token
from millpond.model.people import Token, TokenKind, TokenScope

# Made once: one is written for each job that is placed, one is looked for with each request.
_INSERT = token.insert()
_BY_HASH = select(token).where(token.c.hash == bindparam("wanted"))


def insert(tx: Connection, value: Token, *, hash: bytes) -> None:
    values = {
        "id": value.id,
        "kind": value.kind.value,
        "name": value.name,
        "hash": hash,
        "user_id": value.user_id,
        "agent_id": value.agent_id,
        "placement_id": value.placement_id,
        "created_at": value.created_at,
        "expires_at": value.expires_at,
        "last_used_at": value.last_used_at,
        "scopes": None if value.scopes is None else " ".join(sorted(scope.value for scope in value.scopes)),
    }
    tx.execute(_INSERT, values)


def find_by_hash(tx: Connection, hash: bytes) -> Token | None:
    row = tx.execute(_BY_HASH, {"wanted": hash}).first()
    return _token(row) if row else None


def page_of_user(tx: Connection, user_id: str, *, limit: int, after: str = "") -> Sequence[Token]:
    """At most `limit` tokens of one user by id, behind the id `after`."""
    query = select(token).where(token.c.user_id == user_id, token.c.id > after).order_by(token.c.id).limit(limit)
    return [_token(row) for row in tx.execute(query)]


def used(tx: Connection, token_id: str, at: datetime) -> None:
    tx.execute(token.update().where(token.c.id == token_id).values(last_used_at=at))


def get_of_user(tx: Connection, user_id: str, token_id: str) -> Token | None:
    row = tx.execute(select(token).where(token.c.id == token_id, token.c.user_id == user_id)).first()
    return _token(row) if row else None


def delete_of_user(tx: Connection, user_id: str, token_id: str) -> bool:
    """Whether this user had such a token."""
    key = (token.c.id == token_id) & (token.c.user_id == user_id)
    return tx.execute(token.delete().where(key)).rowcount > 0


def count_of_user(tx: Connection, user_id: str) -> int:
    own = (token.c.user_id == user_id) & (token.c.kind == TokenKind.USER.value)
    return tx.scalar(select(func.count()).select_from(token).where(own)) or 0


def delete_all_of_user(tx: Connection, user_id: str, *, but: Collection[bytes] = ()) -> None:
    """Remove the API tokens of one user, without those whose secrets have these hashes. Tokens of jobs stay."""
    own = (token.c.user_id == user_id) & (token.c.kind == TokenKind.USER.value)
    tx.execute(token.delete().where(own, token.c.hash.not_in(but)))


def delete_named(tx: Connection, *, user_id: str | None = None, agent_id: str | None = None, name: str) -> None:
    """Remove the tokens of this name of one user or agent, so that a new one takes their place."""
    owner = token.c.user_id == user_id if user_id is not None else token.c.agent_id == agent_id
    tx.execute(token.delete().where(owner, token.c.name == name))


def _token(row: Row[*tuple[Any, ...]]) -> Token:
    return Token(
        id=row.id,
        kind=TokenKind(row.kind),
        name=row.name,
        user_id=row.user_id,
        agent_id=row.agent_id,
        placement_id=row.placement_id,
        created_at=row.created_at,
        expires_at=row.expires_at,
        last_used_at=row.last_used_at,
        revoked_at=row.revoked_at,
        scopes=None if row.scopes is None else frozenset(TokenScope(word) for word in row.scopes.split()),
    )
