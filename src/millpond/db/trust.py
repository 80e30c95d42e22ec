"""Which projects are let onto computes whose jobs share one account."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping

from sqlalchemy import Connection, select

from millpond.db.insert import insert_missing
from millpond.db.tables import compute, trust
from millpond.model.compute import Trust


def of_computes(
    tx: Connection, *, site_id: str | None = None, compute_ids: Collection[str] | None = None
) -> Mapping[str, Trust]:
    """By the ids of attached computes: all, those of one site, or these. One that has not reported shares nothing."""
    query = select(compute.c.id, compute.c.trusts_all, compute.c.capabilities).where(compute.c.detached_at.is_(None))
    if site_id is not None:
        query = query.where(compute.c.site_id == site_id)
    if compute_ids is not None:
        query = query.where(compute.c.id.in_(sorted(compute_ids)))
    rows = tx.execute(query).all()
    named: dict[str, set[str]] = defaultdict(set)
    for row in tx.execute(select(trust).where(trust.c.compute_id.in_([row.id for row in rows]))):
        named[row.compute_id].add(row.project_id)
    return {
        row.id: Trust(bool((row.capabilities or {}).get("shared_trust")), row.trusts_all, frozenset(named[row.id]))
        for row in rows
    }


def add(tx: Connection, compute_id: str, project_ids: Collection[str]) -> None:
    rows = [{"compute_id": compute_id, "project_id": project_id} for project_id in sorted(project_ids)]
    insert_missing(tx, trust, rows)


def remove(tx: Connection, compute_id: str, project_ids: Collection[str] | None = None) -> None:
    """These, or with None every one."""
    query = trust.delete().where(trust.c.compute_id == compute_id)
    tx.execute(query if project_ids is None else query.where(trust.c.project_id.in_(sorted(project_ids))))
