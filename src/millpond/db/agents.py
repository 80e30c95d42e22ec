"""Agents and the nodes they speak for."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, bindparam, null, select

from millpond.db.tables import agent, node, site, volume_sight
from millpond.model.agent import Agent, Node

# Those that are not detached. Made once: they are looked at with every exchange, and with every plan.
_AGENTS = (
    select(agent, site.c.name.label("site"))
    .join(site, site.c.id == agent.c.site_id)
    .where(agent.c.detached_at.is_(None))
)
_BY_ID = _AGENTS.where(agent.c.id == bindparam("wanted"))
_BY_NAME = _AGENTS.order_by(agent.c.name)
_NODES = select(node).order_by(node.c.agent_id, node.c.name)


def insert(tx: Connection, value: Agent) -> None:
    """IntegrityError when the name is taken."""
    tx.execute(
        agent.insert().values(
            id=value.id,
            name=value.name,
            site_id=value.site_id,
            driver=value.driver,
            version=value.version,
            created_at=value.created_at,
            seen_at=value.seen_at,
            instance=value.instance,
            trusts_all=value.trusts_all,
        )
    )


def get(tx: Connection, agent_id: str) -> Agent | None:
    row = tx.execute(_BY_ID, {"wanted": agent_id}).first()
    return _agent(row) if row else None


def lock_named(tx: Connection, name: str) -> Agent | None:
    """Read it to change it: nothing is placed there by anybody else until this transaction ends."""
    found = find(tx, name)
    if found is not None:
        lock(tx, found.id)
    return find(tx, name)


def lock(tx: Connection, agent_id: str) -> None:
    """Alone until the transaction ends: everything that takes room on its nodes begins here."""
    tx.execute(select(agent.c.id).where(agent.c.id == agent_id).with_for_update())


def find(tx: Connection, name: str) -> Agent | None:
    row = tx.execute(_AGENTS.where(agent.c.name == name)).first()
    return _agent(row) if row else None


def page(tx: Connection, *, limit: int, after: str = "") -> Sequence[Agent]:
    """At most `limit` agents by name, behind the name `after`."""
    query = _AGENTS.where(agent.c.name > after).order_by(agent.c.name).limit(limit)
    return [_agent(row) for row in tx.execute(query)]


def all_agents(tx: Connection) -> Sequence[Agent]:
    return [_agent(row) for row in tx.execute(_BY_NAME)]


def names(tx: Connection, agent_ids: Collection[str]) -> Mapping[str, str]:
    """What computes are or were called, detached ones too, by the ids of their agents."""
    rows = tx.execute(select(agent.c.id, agent.c.name).where(agent.c.id.in_(sorted(agent_ids))))
    return {row.id: row.name for row in rows}


def change(tx: Connection, agent_id: str, **values: Any) -> None:
    tx.execute(agent.update().where(agent.c.id == agent_id).values(**values))


def detach(tx: Connection, agent_id: str, now: datetime) -> None:
    """Gone from every list; its name is free for another. Placements keep the row."""
    tx.execute(node.delete().where(node.c.agent_id == agent_id))
    tx.execute(volume_sight.delete().where(volume_sight.c.agent_id == agent_id))
    # No name that people can choose has a colon.
    change(tx, agent_id, name=f"detached:{agent_id}", detached_at=now, revoked_at=now, seen_at=None, instance=None)


def seen(
    tx: Connection, agent_id: str, *, driver: str, version: str, instance: str, capabilities: Mapping[str, Any] | None,
    now: datetime,
) -> None:  # fmt: skip
    values: dict[str, Any] = {"driver": driver, "version": version, "instance": instance, "seen_at": now}
    values["capabilities"] = null() if capabilities is None else dict(capabilities)
    tx.execute(agent.update().where(agent.c.id == agent_id).values(**values))


def still_there(tx: Connection, agent_id: str, *, instance: str, now: datetime) -> bool:
    """Note that this process of the agent is connected; False when another one has taken its place."""
    same = (agent.c.id == agent_id) & (agent.c.instance == instance)
    return tx.execute(agent.update().where(same).values(seen_at=now)).rowcount > 0


def nodes(tx: Connection, agent_ids: Collection[str] | None = None) -> Sequence[Node]:
    """By agent and name; of these agents, None meaning all."""
    query = _NODES if agent_ids is None else _NODES.where(node.c.agent_id.in_(sorted(agent_ids)))
    return [_node(row) for row in tx.execute(query)]


def set_nodes(tx: Connection, agent_id: str, values: Sequence[Node]) -> bool:
    """What the agent says now takes the place of what it said before. Whether anything changed."""
    if list(values) == list(nodes(tx, [agent_id])):
        return False
    tx.execute(node.delete().where(node.c.agent_id == agent_id))
    rows = [
        {
            "agent_id": agent_id,
            "name": value.name,
            "cpus": value.cpus,
            "memory_bytes": value.memory_bytes,
            "gpus": value.gpus,
            "gpu_model": value.gpu_model,
            "declared": value.declared,
            "labels": dict(value.labels),
        }
        for value in values
    ]
    if rows:
        tx.execute(node.insert(), rows)
    return True


def _agent(row: Row[Any]) -> Agent:
    return Agent(
        id=row.id,
        name=row.name,
        site_id=row.site_id,
        site=row.site,
        driver=row.driver,
        version=row.version,
        created_at=row.created_at,
        seen_at=row.seen_at,
        instance=row.instance,
        cordoned_at=row.cordoned_at,
        cordoned_by=row.cordoned_by,
        revoked_at=row.revoked_at,
        capabilities=row.capabilities,
        trusts_all=row.trusts_all,
    )


def _node(row: Row[Any]) -> Node:
    return Node(
        agent_id=row.agent_id,
        name=row.name,
        cpus=row.cpus,
        memory_bytes=row.memory_bytes,
        gpus=row.gpus,
        gpu_model=row.gpu_model,
        declared=row.declared,
        labels=row.labels,
    )
