"""Numbers over the whole database, for /metrics and the doctor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, func, select

from millpond.db import volumes
from millpond.db.tables import agent, job, volume


@dataclass(frozen=True, slots=True)
class Totals:
    cached_bytes: int
    volume_bytes: int
    volumes: int
    volume_problems: int
    agents: int


def jobs_by_state(tx: Connection) -> Mapping[str, int]:
    query = select(job.c.state, func.count().label("number")).where(job.c.deleted_at.is_(None)).group_by(job.c.state)
    return {row.state: row.number for row in tx.execute(query)}


def totals(tx: Connection, *, agents_since: datetime) -> Totals:
    """Agents count as connected when they were seen since `agents_since`."""
    count, problems, capacity = tx.execute(
        select(
            func.count(),
            func.count(volume.c.problem),
            func.coalesce(func.sum(volume.c.capacity_bytes - volume.c.reserve_bytes), 0),
        )
    ).one()
    taken = volumes.cached_bytes(tx, among=None)
    agents = tx.scalar(select(func.count()).where(agent.c.seen_at >= agents_since, agent.c.revoked_at.is_(None)))
    return Totals(taken, int(capacity), count, problems, agents or 0)
