"""Agents: who speaks for a compute, and when each was last heard of."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, bindparam, select

from millpond.db.tables import agent, compute, site, token, volume_sight
from millpond.model.agent import Agent

# Those of attached computes. Made once: they are asked for with every exchange.
_AGENTS = (
    select(agent, compute.c.name.label("compute"), compute.c.site_id, site.c.name.label("site"))
    .join(compute, compute.c.id == agent.c.compute_id)
    .join(site, site.c.id == compute.c.site_id)
    .where(compute.c.detached_at.is_(None))
)
_BY_ID = _AGENTS.where(agent.c.id == bindparam("wanted"))
_SEEN = agent.update().where(agent.c.id == bindparam("wanted"))


def insert(tx: Connection, value: Agent) -> None:
    tx.execute(
        agent.insert().values(
            id=value.id,
            compute_id=value.compute_id,
            version=value.version,
            created_at=value.created_at,
            seen_at=value.seen_at,
            instance=value.instance,
        )
    )


def get(tx: Connection, agent_id: str) -> Agent | None:
    """None for an agent of a detached compute."""
    row = tx.execute(_BY_ID, {"wanted": agent_id}).first()
    return _agent(row) if row else None


def first_at(tx: Connection, site_id: str, *, since: datetime) -> str | None:
    """The id of the oldest agent of a site that was heard of since then."""
    query = select(agent.c.id).join(compute, compute.c.id == agent.c.compute_id)
    query = query.where(compute.c.site_id == site_id, compute.c.detached_at.is_(None), agent.c.seen_at >= since)
    return tx.scalars(query.order_by(agent.c.created_at, agent.c.id).limit(1)).first()


def silent(tx: Connection, *, since: datetime) -> list[Agent]:
    """Agents that may speak for a compute and were heard of before, but not since then. Longest silent first."""
    query = _AGENTS.where(agent.c.revoked_at.is_(None), agent.c.seen_at < since).order_by(agent.c.seen_at, agent.c.id)
    return [_agent(row) for row in tx.execute(query)]


def peers(tx: Connection, *, since: datetime) -> Mapping[str, Agent]:
    """Agents that serve their volumes to other sites and were heard of since then, by id."""
    query = _AGENTS.where(agent.c.revoked_at.is_(None), agent.c.peer.is_not(None), agent.c.seen_at >= since)
    return {row.id: _agent(row) for row in tx.execute(query)}


def seen(
    tx: Connection,
    agent_id: str,
    *,
    version: str,
    instance: str,
    peer: str | None,
    now: datetime,
    heard_by: str | None = None,
) -> None:
    values = {"version": version, "instance": instance, "peer": peer, "heard_by": heard_by, "seen_at": now}
    tx.execute(_SEEN, {**values, "wanted": agent_id})


def still_there(tx: Connection, agent_id: str, *, instance: str, now: datetime) -> bool:
    """Note that this process of the agent is connected; False when another one has replaced it."""
    same = (agent.c.id == agent_id) & (agent.c.instance == instance)
    return tx.execute(agent.update().where(same).values(seen_at=now)).rowcount > 0


def revoke_all(tx: Connection, compute_id: str, now: datetime) -> None:
    """Refuse the credentials of all agents of a compute from now on."""
    own = select(agent.c.id).where(agent.c.compute_id == compute_id)
    valid = token.c.agent_id.in_(own) & token.c.revoked_at.is_(None)
    tx.execute(token.update().where(valid).values(revoked_at=now))
    current = (agent.c.compute_id == compute_id) & agent.c.revoked_at.is_(None)
    tx.execute(agent.update().where(current).values(revoked_at=now))


def forget_sights(tx: Connection, compute_id: str) -> None:
    """What the agents of a compute saw of volumes no longer counts."""
    own = select(agent.c.id).where(agent.c.compute_id == compute_id)
    tx.execute(volume_sight.delete().where(volume_sight.c.agent_id.in_(own)))


def _agent(row: Row[Any]) -> Agent:
    return Agent(
        id=row.id,
        compute_id=row.compute_id,
        compute=row.compute,
        site_id=row.site_id,
        site=row.site,
        version=row.version,
        created_at=row.created_at,
        seen_at=row.seen_at,
        instance=row.instance,
        revoked_at=row.revoked_at,
        peer=row.peer,
        heard_by=row.heard_by,
    )
