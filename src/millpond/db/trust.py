"""Which projects are let onto computes whose jobs share one account."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping

from sqlalchemy import Connection, select

from millpond.db.insert import insert_missing
from millpond.db.tables import agent, trust
from millpond.model.compute import Trust


def of_agents(tx: Connection, *, site_id: str | None = None) -> Mapping[str, Trust]:
    """By the ids of all attached agents, or of those of one site. One that has told nothing yet shares nothing."""
    query = select(agent.c.id, agent.c.trusts_all, agent.c.capabilities).where(agent.c.detached_at.is_(None))
    rows = tx.execute(query if site_id is None else query.where(agent.c.site_id == site_id)).all()
    named: dict[str, set[str]] = defaultdict(set)
    for row in tx.execute(select(trust).where(trust.c.agent_id.in_([row.id for row in rows]))):
        named[row.agent_id].add(row.project_id)
    return {
        row.id: Trust(bool((row.capabilities or {}).get("shared_trust")), row.trusts_all, frozenset(named[row.id]))
        for row in rows
    }


def add(tx: Connection, agent_id: str, project_ids: Collection[str]) -> None:
    rows = [{"agent_id": agent_id, "project_id": project_id} for project_id in sorted(project_ids)]
    insert_missing(tx, trust, rows)


def remove(tx: Connection, agent_id: str, project_ids: Collection[str] | None = None) -> None:
    """These, or with None every one."""
    query = trust.delete().where(trust.c.agent_id == agent_id)
    tx.execute(query if project_ids is None else query.where(trust.c.project_id.in_(sorted(project_ids))))
