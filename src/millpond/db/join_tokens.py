"""Join tokens, found by the SHA-256 of their secret."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, Select, func, select

from millpond.db.tables import agent, compute, join_token, site
from millpond.model.compute import JoinToken


def insert(tx: Connection, value: JoinToken, *, hash: bytes) -> None:
    tx.execute(
        join_token.insert().values(
            id=value.id,
            hash=hash,
            site_id=value.site_id,
            created_by=value.created_by,
            created_at=value.created_at,
            expires_at=value.expires_at,
            used_at=value.used_at,
            agent_id=value.agent_id,
            compute_id=value.compute_id,
            standing=value.standing,
        )
    )


def lock_by_hash(tx: Connection, hash: bytes) -> JoinToken | None:
    """Read it to use it: of two agents that come with one token, the second waits for the first."""
    row = tx.execute(_tokens().where(join_token.c.hash == hash).with_for_update(of=join_token)).first()
    return _token(row) if row else None


def is_known(tx: Connection, hash: bytes) -> bool:
    return tx.execute(select(join_token.c.id).where(join_token.c.hash == hash)).first() is not None


def page(tx: Connection, *, limit: int, after: str = "") -> Sequence[JoinToken]:
    """At most `limit` tokens by id, behind the id `after`."""
    query = _tokens().where(join_token.c.id > after).order_by(join_token.c.id).limit(limit)
    return [_token(row) for row in tx.execute(query)]


def use(tx: Connection, token_id: str, *, agent_id: str, now: datetime) -> None:
    tx.execute(join_token.update().where(join_token.c.id == token_id).values(used_at=now, agent_id=agent_id))


def delete(tx: Connection, token_id: str) -> bool:
    """Whether there was one."""
    return tx.execute(join_token.delete().where(join_token.c.id == token_id)).rowcount > 0


def delete_other_standing(tx: Connection, hash: bytes) -> None:
    tx.execute(join_token.delete().where(join_token.c.standing & (join_token.c.hash != hash)))


def delete_expired(tx: Connection, before: datetime) -> int:
    return tx.execute(join_token.delete().where(join_token.c.expires_at < before)).rowcount


def _tokens() -> Select[Any]:
    wanted = func.coalesce(agent.c.compute_id, join_token.c.compute_id)
    attached = (compute.c.id == wanted) & compute.c.detached_at.is_(None)
    query = select(join_token, site.c.name.label("site"), compute.c.name.label("compute"))
    query = query.join(site, site.c.id == join_token.c.site_id)
    return query.outerjoin(agent, agent.c.id == join_token.c.agent_id).outerjoin(compute, attached)


def _token(row: Row[Any]) -> JoinToken:
    return JoinToken(
        id=row.id,
        site_id=row.site_id,
        site=row.site,
        created_by=row.created_by,
        created_at=row.created_at,
        expires_at=row.expires_at,
        used_at=row.used_at,
        agent_id=row.agent_id,
        compute_id=row.compute_id,
        compute=row.compute,
        standing=row.standing,
    )
