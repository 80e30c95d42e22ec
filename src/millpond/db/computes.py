"""Computes, each with the agent that speaks for it. The functions know attached computes only, unless they say so."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, bindparam, select

from millpond.db import agents, nodes
from millpond.db.tables import agent, compute, site
from millpond.model.agent import Agent
from millpond.model.compute import Compute

# Made once: they are asked for with every exchange, and with every plan.
_COMPUTES = (
    select(
        compute, site.c.name.label("site"),
        agent.c.version, agent.c.created_at.label("joined_at"), agent.c.seen_at, agent.c.instance, agent.c.revoked_at,
    )
    .join(site, site.c.id == compute.c.site_id)
    .outerjoin(agent, agent.c.id == compute.c.agent_id)
    .where(compute.c.detached_at.is_(None))
)  # fmt: skip
_BY_ID = _COMPUTES.where(compute.c.id == bindparam("wanted"))
_BY_NAME = _COMPUTES.order_by(compute.c.name)


def insert(tx: Connection, value: Compute) -> None:
    """IntegrityError when the name is taken. Its agent is inserted separately, after it."""
    tx.execute(
        compute.insert().values(
            id=value.id,
            name=value.name,
            site_id=value.site_id,
            driver=value.driver,
            created_at=value.created_at,
            trusts_all=value.trusts_all,
        )
    )


def get(tx: Connection, compute_id: str) -> Compute | None:
    row = tx.execute(_BY_ID, {"wanted": compute_id}).first()
    return _compute(row) if row else None


def find(tx: Connection, name: str) -> Compute | None:
    row = tx.execute(_COMPUTES.where(compute.c.name == name)).first()
    return _compute(row) if row else None


def was_named(tx: Connection, name: str) -> bool:
    """True if a compute has this name, or one that was detached had it."""
    return tx.execute(select(compute.c.id).where(compute.c.name == name).limit(1)).first() is not None


def lock(tx: Connection, compute_id: str) -> None:
    """Alone until the transaction ends: everything that takes room on its nodes begins here."""
    tx.execute(select(compute.c.id).where(compute.c.id == compute_id).with_for_update())


def lock_named(tx: Connection, name: str) -> Compute | None:
    """Read it to change it: nobody else places anything there until this transaction ends."""
    found = find(tx, name)
    if found is not None:
        lock(tx, found.id)
    return find(tx, name)


def page(tx: Connection, *, limit: int, after: str = "") -> Sequence[Compute]:
    """At most `limit` computes by name, behind the name `after`."""
    query = _COMPUTES.where(compute.c.name > after).order_by(compute.c.name).limit(limit)
    return [_compute(row) for row in tx.execute(query)]


def all_computes(tx: Connection, compute_ids: Collection[str] | None = None) -> Sequence[Compute]:
    """By name; those of these ids, None meaning all."""
    query = _BY_NAME if compute_ids is None else _BY_NAME.where(compute.c.id.in_(sorted(compute_ids)))
    return [_compute(row) for row in tx.execute(query)]


def names(tx: Connection, compute_ids: Collection[str]) -> Mapping[str, str]:
    """By id, detached ones too."""
    rows = tx.execute(select(compute.c.id, compute.c.name).where(compute.c.id.in_(sorted(compute_ids))))
    return {row.id: row.name for row in rows}


def change(tx: Connection, compute_id: str, **values: Any) -> None:
    tx.execute(compute.update().where(compute.c.id == compute_id).values(**values))


def give_to(tx: Connection, value: Agent) -> None:
    """From now on this new agent speaks for its compute; those before it are revoked, and their nodes have left."""
    agents.revoke_all(tx, value.compute_id, value.created_at)
    nodes.leave(tx, value.compute_id, value.created_at)
    agents.insert(tx, value)
    change(tx, value.compute_id, agent_id=value.id)


def detach(tx: Connection, compute_id: str, now: datetime) -> None:
    """Remove it from every list; its name is free for another. Placements keep the row."""
    agents.revoke_all(tx, compute_id, now)
    agents.forget_sights(tx, compute_id)
    nodes.leave(tx, compute_id, now)
    change(tx, compute_id, detached_at=now)


def _compute(row: Row[Any]) -> Compute:
    return Compute(
        id=row.id,
        name=row.name,
        site_id=row.site_id,
        site=row.site,
        driver=row.driver,
        created_at=row.created_at,
        agent=_agent(row) if row.agent_id and row.joined_at else None,
        capabilities=row.capabilities,
        trusts_all=row.trusts_all,
        cordoned_at=row.cordoned_at,
        cordoned_by=row.cordoned_by,
    )


def _agent(row: Row[Any]) -> Agent:
    return Agent(
        id=row.agent_id,
        compute_id=row.id,
        compute=row.name,
        site_id=row.site_id,
        site=row.site,
        version=row.version,
        created_at=row.joined_at,
        seen_at=row.seen_at,
        instance=row.instance,
        revoked_at=row.revoked_at,
    )
