"""Elastic computes by name, and their machines: written before they are created, kept after they are gone."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, select

from millpond.db.tables import compute, elastic_compute, elastic_node
from millpond.model.documents import from_document, to_document
from millpond.model.elastic import ElasticCompute, ElasticNode, ElasticSpec, ElasticState

_NODES = select(elastic_node, elastic_compute.c.name.label("elastic")).join(
    elastic_compute, elastic_compute.c.id == elastic_node.c.elastic_id
)
_LIVING = _NODES.where(elastic_node.c.gone_at.is_(None)).order_by(elastic_node.c.created_at, elastic_node.c.name)
_BY_COMPUTE = (
    select(elastic_node.c.compute_id, elastic_compute.c.name)
    .join(elastic_compute, elastic_compute.c.id == elastic_node.c.elastic_id)
    .where(elastic_node.c.gone_at.is_(None), elastic_node.c.compute_id.is_not(None))
)


def insert(tx: Connection, value: ElasticCompute) -> None:
    """IntegrityError when the name is taken."""
    tx.execute(elastic_compute.insert().values(id=value.id, **_values(value)))


def change(tx: Connection, value: ElasticCompute) -> None:
    tx.execute(elastic_compute.update().where(elastic_compute.c.id == value.id).values(**_values(value)))


def find(tx: Connection, name: str) -> ElasticCompute | None:
    row = tx.execute(select(elastic_compute).where(elastic_compute.c.name == name)).first()
    return _value(row) if row else None


def lock(tx: Connection, elastic_id: str) -> ElasticCompute | None:
    """Read it to change it or its machines: nobody else creates one until this transaction ends."""
    query = select(elastic_compute).where(elastic_compute.c.id == elastic_id).with_for_update()
    row = tx.execute(query).first()
    return _value(row) if row else None


def all_of(tx: Connection) -> Sequence[ElasticCompute]:
    return [_value(row) for row in tx.execute(select(elastic_compute).order_by(elastic_compute.c.name))]


def page(tx: Connection, *, limit: int, after: str = "") -> Sequence[ElasticCompute]:
    """At most `limit` of them by name, behind the name `after`."""
    query = select(elastic_compute).where(elastic_compute.c.name > after).order_by(elastic_compute.c.name)
    return [_value(row) for row in tx.execute(query.limit(limit))]


def delete(tx: Connection, elastic_id: str) -> None:
    tx.execute(elastic_compute.delete().where(elastic_compute.c.id == elastic_id))


def insert_node(tx: Connection, value: ElasticNode) -> None:
    tx.execute(elastic_node.insert().values(**_node_values(value)))


def change_node(tx: Connection, value: ElasticNode) -> None:
    tx.execute(elastic_node.update().where(elastic_node.c.id == value.id).values(**_node_values(value)))


def lock_node(tx: Connection, node_id: str) -> ElasticNode | None:
    row = tx.execute(_NODES.where(elastic_node.c.id == node_id).with_for_update(of=elastic_node)).first()
    return _node(row) if row else None


def node_of_token(tx: Connection, join_token_id: str) -> ElasticNode | None:
    row = tx.execute(_NODES.where(elastic_node.c.join_token_id == join_token_id)).first()
    return _node(row) if row else None


def living_nodes(tx: Connection, elastic_ids: Collection[str] | None = None) -> Sequence[ElasticNode]:
    """Those that are not gone, the oldest first; of these elastic computes, None meaning all."""
    query = _LIVING if elastic_ids is None else _LIVING.where(elastic_node.c.elastic_id.in_(sorted(elastic_ids)))
    return [_node(row) for row in tx.execute(query)]


def nodes_of(tx: Connection, elastic_id: str, *, limit: int) -> Sequence[ElasticNode]:
    """The newest first, those that are gone among them."""
    query = _NODES.where(elastic_node.c.elastic_id == elastic_id).order_by(elastic_node.c.created_at.desc())
    return [_node(row) for row in tx.execute(query.limit(limit))]


def by_compute(tx: Connection) -> Mapping[str, str]:
    """The name of the elastic compute, by the ids of the computes that are machines of one."""
    return {row.compute_id: row.name for row in tx.execute(_BY_COMPUTE)}


def compute_name(tx: Connection, compute_id: str) -> str | None:
    """The name of an attached compute."""
    return tx.scalar(select(compute.c.name).where(compute.c.id == compute_id, compute.c.detached_at.is_(None)))


def forget_gone(tx: Connection, before: datetime) -> int:
    return tx.execute(elastic_node.delete().where(elastic_node.c.gone_at < before)).rowcount


def _values(value: ElasticCompute) -> dict[str, Any]:
    return {
        "name": value.name,
        "spec": to_document(value.spec),
        "created_at": value.created_at,
        "created_by": value.created_by,
        "changed_at": value.changed_at,
        "changed_by": value.changed_by,
        "failures": value.failures,
        "retry_at": value.retry_at,
        "problem": value.problem,
    }


def _value(row: Row[Any]) -> ElasticCompute:
    return ElasticCompute(**{**row._mapping, "spec": from_document(ElasticSpec, row.spec)})


def _node_values(value: ElasticNode) -> dict[str, Any]:
    names = (
        "id", "elastic_id", "name", "reason", "join_token_id", "compute_id", "created_at", "ready_at", "deleting_at",
        "gone_at", "used", "price_per_hour", "problem",
    )  # fmt: skip
    return {"state": value.state.value, **{name: getattr(value, name) for name in names}}


def _node(row: Row[Any]) -> ElasticNode:
    return ElasticNode(**{**row._mapping, "state": ElasticState(row.state)})
