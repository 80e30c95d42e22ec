"""How full volumes were and how their caches were used, over time."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, Select, and_, func, or_, select

from millpond.db.insert import insert_missing
from millpond.db.tables import cache_use, cached, eviction, lease, volume_sample
from millpond.model.cached_state import CachedState
from millpond.model.topology import CacheUses, VolumeSample

_COUNTS = ("hits", "misses", "saved_bytes", "saved_seconds", "fills", "filled_bytes", "fill_seconds")


def add_uses(tx: Connection, volume_id: str, project_id: str, hour: datetime, value: CacheUses) -> None:
    ids = {"volume_id": volume_id, "project_id": project_id, "hour": hour}
    insert_missing(tx, cache_use, [ids | asdict(CacheUses())])
    key = and_(*(cache_use.c[name] == wanted for name, wanted in ids.items()))
    added = {name: cache_use.c[name] + count for name, count in asdict(value).items()}
    tx.execute(cache_use.update().where(key).values(**added))


def uses(
    tx: Connection, *, among: Collection[str] | None, volume_id: str | None = None, since: datetime | None = None
) -> CacheUses:
    """Of these projects, None meaning all; of one volume, or of all of them."""
    return _uses(tx.execute(_chosen(_sums(), among, volume_id, since)).one())


def uses_by_volume(tx: Connection) -> Mapping[str, CacheUses]:
    query = _sums().add_columns(cache_use.c.volume_id).group_by(cache_use.c.volume_id)
    return {row.volume_id: _uses(row) for row in tx.execute(query)}


def hours(
    tx: Connection, volume_id: str, *, among: Collection[str] | None, since: datetime, until: datetime
) -> Sequence[tuple[datetime, CacheUses]]:
    """Oldest first; hours without use are left out."""
    query = _sums().add_columns(cache_use.c.hour).where(cache_use.c.hour <= until)
    query = _chosen(query, among, volume_id, since).group_by(cache_use.c.hour).order_by(cache_use.c.hour)
    return [(row.hour, _uses(row)) for row in tx.execute(query)]


def put_sample(tx: Connection, volume_id: str, step_seconds: int, value: VolumeSample) -> None:
    """One per step: the first of several servers that look at the same moment is kept."""
    insert_missing(tx, volume_sample, [{"volume_id": volume_id, "step_seconds": step_seconds, **asdict(value)}])


def samples(
    tx: Connection, volume_id: str, step_seconds: int, *, since: datetime, until: datetime
) -> Sequence[VolumeSample]:
    """Oldest first."""
    query = (
        select(volume_sample)
        .where(volume_sample.c.volume_id == volume_id, volume_sample.c.step_seconds == step_seconds)
        .where(volume_sample.c.at >= since, volume_sample.c.at <= until)
        .order_by(volume_sample.c.at)
    )
    return [
        VolumeSample(row.at, row.capacity_bytes, row.used_bytes, row.reserved_bytes, row.free_bytes, row.foreign_bytes)
        for row in tx.execute(query)
    ]


def forget_samples(tx: Connection, step_seconds: int, *, before: datetime) -> None:
    tx.execute(volume_sample.delete().where(volume_sample.c.step_seconds == step_seconds, volume_sample.c.at < before))


def filling_ids(tx: Connection) -> Sequence[str]:
    """Of the cached commits that are on their way."""
    query = select(cached.c.id).where(cached.c.state == CachedState.FILLING.value).order_by(cached.c.requested_at)
    return tx.scalars(query.order_by(cached.c.id)).all()


def pinned_by_volume(tx: Connection) -> Mapping[str, int]:
    query = select(cached.c.volume_id, func.count().label("number")).where(cached.c.pinned)
    return {row.volume_id: row.number for row in tx.execute(query.group_by(cached.c.volume_id))}


def leased_by_volume(tx: Connection, now: datetime) -> Mapping[str, int]:
    """Cached commits that a job, a reader or somebody's wish keeps, by volume."""
    query = select(cached.c.volume_id, func.count(cached.c.id.distinct()).label("number"))
    query = query.join(lease, lease.c.cached_id == cached.c.id)
    query = query.where(or_(lease.c.expires_at.is_(None), lease.c.expires_at > now))
    return {row.volume_id: row.number for row in tx.execute(query.group_by(cached.c.volume_id))}


def evictions_by_cause(tx: Connection) -> Mapping[tuple[str, str], int]:
    """By volume and cause."""
    query = select(eviction.c.volume_id, eviction.c.cause, func.count().label("number"))
    rows = tx.execute(query.group_by(eviction.c.volume_id, eviction.c.cause))
    return {(row.volume_id, row.cause): row.number for row in rows}


def cached_totals(tx: Connection, *, among: Collection[str] | None) -> tuple[int, int]:
    """How many different commits are ready on volumes, and the bytes they have there, of these projects."""
    query = select(func.count(cached.c.commit_id.distinct()), func.coalesce(func.sum(cached.c.bytes), 0))
    query = query.where(cached.c.state == CachedState.READY.value)
    count, size = tx.execute(query if among is None else query.where(cached.c.project_id.in_(among))).one()
    return int(count), int(size)


def _sums() -> Select[Any]:
    return select(*(func.coalesce(func.sum(cache_use.c[name]), 0).label(name) for name in _COUNTS))


def _chosen(
    query: Select[Any], among: Collection[str] | None, volume_id: str | None, since: datetime | None
) -> Select[Any]:
    if among is not None:
        query = query.where(cache_use.c.project_id.in_(among))
    if volume_id is not None:
        query = query.where(cache_use.c.volume_id == volume_id)
    return query if since is None else query.where(cache_use.c.hour >= since)


def _uses(row: Row[Any]) -> CacheUses:
    return CacheUses(
        hits=int(row.hits),
        misses=int(row.misses),
        saved_bytes=int(row.saved_bytes),
        saved_seconds=float(row.saved_seconds),
        fills=int(row.fills),
        filled_bytes=int(row.filled_bytes),
        fill_seconds=float(row.fill_seconds),
    )
