"""Volumes: their limits, and what their agents last measured."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, bindparam, func, select

from millpond.db.tables import cached, site, volume, volume_share
from millpond.model.cached_state import CachedState
from millpond.model.tier import TierEnforced
from millpond.model.volume import Volume

_VOLUMES = select(volume, site.c.name.label("site")).join(site, site.c.id == volume.c.site_id)
# Made once: they are asked with every exchange of an agent.
_ALL = _VOLUMES.order_by(volume.c.name)
_OF_SITE = _ALL.where(volume.c.site_id == bindparam("site"))


def insert(tx: Connection, value: Volume) -> None:
    """IntegrityError when the name, or the path at the site, is taken."""
    tx.execute(
        volume.insert().values(
            id=value.id,
            name=value.name,
            site_id=value.site_id,
            path=value.path,
            capacity_bytes=value.capacity_bytes,
            reserve_bytes=value.reserve_bytes,
            idle_seconds=value.idle_seconds,
            high_percent=value.high_percent,
            low_percent=value.low_percent,
            created_at=value.created_at,
            next_attempt=1,
            tier=value.tier,
            tier_throughput=value.tier_throughput,
            tier_price=value.tier_price,
            tier_by=value.tier_by,
        )
    )


def get(tx: Connection, volume_id: str) -> Volume | None:
    row = tx.execute(_VOLUMES.where(volume.c.id == volume_id)).first()
    return _volume(row) if row else None


def lock(tx: Connection, volume_id: str) -> Volume | None:
    """The volume, alone until the transaction ends: everything that reserves or frees its bytes begins here."""
    row = tx.execute(_VOLUMES.where(volume.c.id == volume_id).with_for_update(of=volume)).first()
    return _volume(row) if row else None


def find(tx: Connection, name: str) -> Volume | None:
    row = tx.execute(_VOLUMES.where(volume.c.name == name)).first()
    return _volume(row) if row else None


def find_path(tx: Connection, site_id: str, path: str) -> Volume | None:
    row = tx.execute(_VOLUMES.where(volume.c.site_id == site_id, volume.c.path == path)).first()
    return _volume(row) if row else None


def names(tx: Connection) -> Sequence[str]:
    return tx.scalars(select(volume.c.name).order_by(volume.c.name)).all()


def page(tx: Connection, *, limit: int, after: str = "") -> Sequence[Volume]:
    """At most `limit` volumes by name, behind the name `after`."""
    query = _VOLUMES.where(volume.c.name > after).order_by(volume.c.name).limit(limit)
    return [_volume(row) for row in tx.execute(query)]


def all_of(tx: Connection, site_id: str | None = None) -> Sequence[Volume]:
    """Every volume (of one site), by name."""
    rows = tx.execute(_ALL) if site_id is None else tx.execute(_OF_SITE, {"site": site_id})
    return [_volume(row) for row in rows]


def connected(tx: Connection, *, since: datetime) -> tuple[int, int]:
    """How many volumes are connected (well, and seen since then), and their capacity."""
    query = select(func.count(), func.coalesce(func.sum(volume.c.capacity_bytes), 0)).where(_connected(since))
    count, capacity = tx.execute(query).one()
    return int(count), int(capacity)


def _connected(since: datetime) -> ColumnElement[bool]:
    return and_(volume.c.problem.is_(None), volume.c.seen_at >= since)


def cached_bytes(tx: Connection, *, among: Collection[str] | None, since: datetime | None = None) -> int:
    """Bytes that cached commits of these projects take, None meaning all: files that several share count once.

    With `since`, only on volumes that are connected, as `connected` counts them.
    """
    ready = select(cached.c.id, cached.c.reserved_bytes).where(cached.c.state == CachedState.READY.value)
    shares = select(volume_share.c.members, volume_share.c.bytes)
    if since is not None:
        here = select(volume.c.id).where(_connected(since))
        ready, shares = ready.where(cached.c.volume_id.in_(here)), shares.where(volume_share.c.volume_id.in_(here))
    if among is not None:
        ready = ready.where(cached.c.project_id.in_(among))
        shares = shares.where(volume_share.c.project_id.in_(among))
    unmeasured: dict[str, int] = {row.id: row.reserved_bytes for row in tx.execute(ready)}
    counted = frozenset(unmeasured)
    measured = 0
    for members, size in tx.execute(shares):
        if not counted.isdisjoint(members):
            measured += size
            for member in members:
                unmeasured.pop(member, None)
    return measured + sum(unmeasured.values())


def change(tx: Connection, volume_id: str, **values: Any) -> None:
    tx.execute(volume.update().where(volume.c.id == volume_id).values(**values))


def set_by_plugins(tx: Connection) -> Sequence[tuple[Volume, Mapping[str, Any] | None]]:
    """Volumes whose tier a plug-in sets, each with what that was asked for last."""
    query = _VOLUMES.where(volume.c.tier_by.is_not(None)).order_by(volume.c.name)
    return [(_volume(row), row.tier_set) for row in tx.execute(query)]


def take_attempt(tx: Connection, volume_id: str) -> int:
    """The next attempt number of a volume, never given twice."""
    number: int = tx.execute(
        select(volume.c.next_attempt).where(volume.c.id == volume_id).with_for_update()
    ).scalar_one()
    change(tx, volume_id, next_attempt=number + 1)
    return number


def delete(tx: Connection, volume_id: str) -> None:
    tx.execute(volume.delete().where(volume.c.id == volume_id))


def _volume(row: Row[Any]) -> Volume:
    return Volume(
        id=row.id,
        name=row.name,
        site_id=row.site_id,
        site=row.site,
        path=row.path,
        capacity_bytes=row.capacity_bytes,
        reserve_bytes=row.reserve_bytes,
        idle_seconds=row.idle_seconds,
        high_percent=row.high_percent,
        low_percent=row.low_percent,
        created_at=row.created_at,
        disk_free_bytes=row.disk_free_bytes,
        problem=row.problem,
        seen_at=row.seen_at,
        filler_id=row.filler_id,
        features=row.features,
        tier=row.tier,
        tier_throughput=row.tier_throughput,
        tier_price=row.tier_price,
        disk_total_bytes=row.disk_total_bytes,
        inodes_total=row.inodes_total,
        inodes_free=row.inodes_free,
        leftover_bytes=row.leftover_bytes,
        tier_by=row.tier_by,
        tier_enforced=TierEnforced(**row.tier_enforced) if row.tier_enforced else None,
    )
