"""Samples of what routers counted, for charts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select

from millpond.db.insert import insert_missing
from millpond.db.tables import endpoint_sample


@dataclass(frozen=True, slots=True)
class StoredSample:
    placement_id: str
    at: datetime
    stats: Mapping[str, Any]


def add(tx: Connection, endpoint_id: str, samples: Sequence[StoredSample]) -> None:
    """Another server may have added the same ones."""
    rows = [
        {"endpoint_id": endpoint_id, "placement_id": one.placement_id, "at": one.at, "stats": one.stats}
        for one in samples
    ]
    insert_missing(tx, endpoint_sample, rows)


def since(tx: Connection, endpoint_id: str, begin: datetime) -> Sequence[StoredSample]:
    """From then on, oldest first."""
    mine = endpoint_sample.c.endpoint_id == endpoint_id, endpoint_sample.c.at >= begin
    rows = tx.execute(select(endpoint_sample).where(*mine).order_by(endpoint_sample.c.at))
    return [StoredSample(row.placement_id, row.at, row.stats) for row in rows]


def of_routers(
    tx: Connection, endpoint_ids: Collection[str], placement_ids: Collection[str], begin: datetime
) -> Mapping[tuple[str, str], Sequence[StoredSample]]:
    """From then on, oldest first, by endpoint and placement."""
    chosen = (
        endpoint_sample.c.endpoint_id.in_(endpoint_ids),
        endpoint_sample.c.placement_id.in_(placement_ids),
        endpoint_sample.c.at >= begin,
    )
    found: dict[tuple[str, str], list[StoredSample]] = {}
    for row in tx.execute(select(endpoint_sample).where(*chosen).order_by(endpoint_sample.c.at)):
        sample = StoredSample(row.placement_id, row.at, row.stats)
        found.setdefault((row.endpoint_id, row.placement_id), []).append(sample)
    return found


def forget(tx: Connection, before: datetime) -> None:
    tx.execute(endpoint_sample.delete().where(endpoint_sample.c.at < before))
