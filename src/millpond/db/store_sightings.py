"""Which agent can read the lake from which store."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, bindparam, select

from millpond.db.insert import insert_missing
from millpond.db.tables import agent, compute, site, store_sight
from millpond.model.lake_store import StoreSight

_OF_AGENT = select(store_sight).where(store_sight.c.agent_id == bindparam("agent"))


def put(tx: Connection, agent_id: str, found: Collection[StoreSight]) -> None:
    """All that an agent found; stores that it no longer looks at are forgotten."""
    of_agent = store_sight.c.agent_id == agent_id
    tx.execute(store_sight.delete().where(of_agent, store_sight.c.store_id.not_in([one.store_id for one in found])))
    insert_missing(tx, store_sight, [asdict(one) for one in found])
    for one in found:
        changed = {"problem": one.problem, "seen_at": one.seen_at}
        tx.execute(store_sight.update().where(of_agent, store_sight.c.store_id == one.store_id).values(**changed))


def of_agent(tx: Connection, agent_id: str) -> Sequence[StoreSight]:
    return [_sight(row) for row in tx.execute(_OF_AGENT, {"agent": agent_id})]


def of_site(tx: Connection, site_id: str, *, since: datetime) -> Sequence[StoreSight]:
    """What agents of a site have found since then, the newest first."""
    query = (
        select(store_sight)
        .join(agent, agent.c.id == store_sight.c.agent_id)
        .join(compute, compute.c.id == agent.c.compute_id)
        .where(compute.c.site_id == site_id, compute.c.detached_at.is_(None), store_sight.c.seen_at >= since)
        .order_by(store_sight.c.seen_at.desc(), store_sight.c.agent_id)
    )
    return [_sight(row) for row in tx.execute(query)]


def problems(tx: Connection, *, since: datetime) -> Mapping[str, Sequence[StoreSight]]:
    """Stores that agents could not read since then, by the name of their site."""
    query = (
        select(store_sight, site.c.name.label("site"))
        .join(agent, agent.c.id == store_sight.c.agent_id)
        .join(compute, compute.c.id == agent.c.compute_id)
        .join(site, site.c.id == compute.c.site_id)
        .where(compute.c.detached_at.is_(None), store_sight.c.problem.is_not(None), store_sight.c.seen_at >= since)
        .order_by(site.c.name, store_sight.c.store_id, store_sight.c.agent_id)
    )
    found: dict[str, list[StoreSight]] = {}
    for row in tx.execute(query):
        found.setdefault(row.site, []).append(_sight(row))
    return found


def _sight(row: Row[Any]) -> StoreSight:
    return StoreSight(row.agent_id, row.store_id, row.problem, row.seen_at)
