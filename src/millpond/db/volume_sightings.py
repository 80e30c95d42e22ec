"""Which agent sees which volume well: of its own site, and of sites that are linked to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from sqlalchemy import Connection, and_, select

from millpond.db.insert import insert_missing
from millpond.db.tables import agent, compute, volume_sight
from millpond.model.topology import Sight


def put(tx: Connection, value: Sight) -> None:
    insert_missing(tx, volume_sight, [asdict(value)])
    key = and_(volume_sight.c.agent_id == value.agent_id, volume_sight.c.volume_id == value.volume_id)
    tx.execute(volume_sight.update().where(key).values(problem=value.problem, seen_at=value.seen_at))


def all_sights(tx: Connection) -> Mapping[tuple[str, str], Sight]:
    """By the ids of agent and volume."""
    return {
        (row.agent_id, row.volume_id): Sight(row.agent_id, row.volume_id, row.problem, row.seen_at)
        for row in tx.execute(select(volume_sight))
    }


def of_volume(tx: Connection, volume_id: str, site_id: str) -> Sequence[Sight]:
    """Of the agents of one site, the oldest agent first."""
    query = (
        select(volume_sight)
        .join(agent, agent.c.id == volume_sight.c.agent_id)
        .join(compute, compute.c.id == agent.c.compute_id)
        .where(volume_sight.c.volume_id == volume_id, compute.c.site_id == site_id)
        .order_by(agent.c.created_at, agent.c.id)
    )
    return [Sight(row.agent_id, row.volume_id, row.problem, row.seen_at) for row in tx.execute(query)]
