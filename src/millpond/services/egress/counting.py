"""Counts what fills brought, from what agents report that each source gave. Inside the caller's write transaction."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import Connection

from millpond.db import egress, links, volumes
from millpond.db.caches import CachedView
from millpond.decide.egress import merged, new_bytes
from millpond.model.egress import GB, OUTSIDE, CountedFill, Egress
from millpond.model.fill_source import SourceKey, SourceKind
from millpond.model.topology import LAKE


def count(tx: Connection, view: CachedView, report: CountedFill, now: datetime) -> None:
    """Count what is new in a report on a fill under way. The same report again adds nothing.

    Money is what the link costs now: what came before its price was set stays as it was.
    """
    before = egress.counted(tx, view.cached.id)
    added = new_bytes(before, report)
    if not added:
        return
    day = f"{now.astimezone(UTC):%Y-%m-%d}"
    for key, size in added.items():
        source_id = _end(tx, key)
        money = size * _price(tx, source_id, view.site_id) / GB
        egress.add(tx, Egress(day, view.cached.project_id, view.site_id, source_id, size, money))
    egress.put_counted(tx, merged(before, report))


def _end(tx: Connection, key: SourceKey) -> str:
    """Where the bytes came from: `lake`, `outside`, or the id of a site or of a replica of the lake."""
    if key.kind is SourceKind.OUTSIDE:
        return OUTSIDE
    if key.kind is SourceKind.REPLICA:
        return key.id
    volume = volumes.get(tx, key.id) if key.id else None
    return volume.site_id if volume else LAKE


def _price(tx: Connection, source_id: str, site_id: str) -> float:
    link = links.find(tx, source_id, site_id) if source_id != OUTSIDE else None
    return (link.price_per_gb if link else None) or 0.0
