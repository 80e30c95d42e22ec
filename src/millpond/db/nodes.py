"""The nodes of computes: they come with a report of their agent, and leave without losing their history."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, Select, bindparam, select

from millpond.db.tables import agent, node
from millpond.model.compute import Node
from millpond.model.job_spec import Resources

_NODES = (
    select(node, agent.c.seen_at)
    .outerjoin(agent, agent.c.id == node.c.agent_id)
    .order_by(node.c.compute_id, node.c.name)
)
_PRESENT = _NODES.where(node.c.left_at.is_(None))
# Made once: agents are held against them with every exchange.
_OF_COMPUTES = {
    query: query.where(node.c.compute_id.in_(bindparam("computes", expanding=True))) for query in (_NODES, _PRESENT)
}


def present(tx: Connection, compute_ids: Collection[str] | None = None) -> Sequence[Node]:
    """Those that have not left, by compute and name; of these computes, None meaning all."""
    return _read(tx, _PRESENT, compute_ids)


def large_enough(tx: Connection, resources: Resources, *, limit: int) -> Collection[str]:
    """The ids of computes of some nodes that could hold this when they are empty."""
    query = select(node.c.compute_id).where(
        node.c.left_at.is_(None),
        node.c.cpus >= resources.cpu,
        node.c.memory_bytes >= resources.memory_bytes,
        node.c.gpus * 100 >= resources.gpu_hundredths,
    )
    return set(tx.scalars(query.limit(limit)))


def all_of(tx: Connection, compute_ids: Collection[str]) -> Sequence[Node]:
    """Those that have left, too."""
    return _read(tx, _NODES, compute_ids)


def report(tx: Connection, agent_id: str, compute_id: str, told: Sequence[Node], now: datetime) -> bool:
    """Take what an agent tells of its compute's nodes; True if anything changed.

    Those of its nodes that it no longer names have left.
    """
    own = {one.name: one for one in present(tx, [compute_id]) if one.agent_id == agent_id}
    if {one.name: _values(one) for one in told} == {name: _values(one) for name, one in own.items()}:
        return False
    known = {one.name for one in all_of(tx, [compute_id])}
    new = [one for one in told if one.name not in known]
    again = [one for one in told if one.name in known and (one.name not in own or _differ(one, own[one.name]))]
    gone = own.keys() - {one.name for one in told}
    if new:
        tx.execute(node.insert(), [{**_values(one), "agent_id": agent_id, "added_at": now} for one in new])
    for one in again:
        values = {**_values(one), "agent_id": agent_id, "left_at": None}
        tx.execute(node.update().where(_key(compute_id, [one.name])).values(**values))
    if gone:
        tx.execute(node.update().where(_key(compute_id, sorted(gone))).values(left_at=now))
    return True


def leave(tx: Connection, compute_id: str, now: datetime) -> None:
    """All nodes of the compute that are still there."""
    tx.execute(node.update().where(node.c.compute_id == compute_id, node.c.left_at.is_(None)).values(left_at=now))


def _read(tx: Connection, query: Select[Any], compute_ids: Collection[str] | None) -> Sequence[Node]:
    if compute_ids is None:
        return [_node(row) for row in tx.execute(query)]
    return [_node(row) for row in tx.execute(_OF_COMPUTES[query], {"computes": sorted(compute_ids)})]


def _key(compute_id: str, names: Sequence[str]) -> Any:
    return (node.c.compute_id == compute_id) & node.c.name.in_(names)


def _differ(told: Node, known: Node) -> bool:
    return _values(told) != _values(known)


def _values(value: Node) -> Mapping[str, Any]:
    return {
        "compute_id": value.compute_id,
        "name": value.name,
        "cpus": value.cpus,
        "memory_bytes": value.memory_bytes,
        "gpus": value.gpus,
        "gpu_model": value.gpu_model,
        "declared": value.declared,
        "labels": dict(value.labels),
        "closed": value.closed,
        "gpu_memory_bytes": value.gpu_memory_bytes,
    }


def _node(row: Row[Any]) -> Node:
    return Node(
        compute_id=row.compute_id,
        name=row.name,
        cpus=row.cpus,
        memory_bytes=row.memory_bytes,
        gpus=row.gpus,
        gpu_model=row.gpu_model,
        declared=row.declared,
        labels=row.labels,
        closed=row.closed,
        gpu_memory_bytes=row.gpu_memory_bytes,
        agent_id=row.agent_id,
        seen_at=row.seen_at,
        left_at=row.left_at,
    )
