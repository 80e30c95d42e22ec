"""Links between places, and what was measured over them. An end is a site's id, or `lake`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, bindparam, or_, select

from millpond.db.insert import insert_missing
from millpond.db.tables import bandwidth, fill_rate, link
from millpond.model.documents import from_document, to_document
from millpond.model.fill_source import SourceKey, SourceKind
from millpond.model.rate_limit import RateLimit
from millpond.model.topology import LAKE, Bandwidth, FillRate, Link, ordered

# Made once: they are asked with every exchange of an agent.
_ALL = select(link).order_by(link.c.a_id, link.c.b_id)
_HERE: Any = bindparam("site")
_AWAY = (
    select(link.c.a_id)
    .where((link.c.a_id == _HERE) & (link.c.b_id != LAKE) | (link.c.b_id == _HERE) & (link.c.a_id != LAKE))
    .limit(1)
)


def put(tx: Connection, value: Link) -> None:
    """The whole of what is said of it but its limit; what was said before is replaced."""
    a_id, b_id = ordered(value.a_id, value.b_id)
    row = _row(value) | {"a_id": a_id, "b_id": b_id}
    insert_missing(tx, link, [row])
    tx.execute(link.update().where(_between(a_id, b_id)).values(**row))


def put_limit(tx: Connection, a_id: str, b_id: str, limit: RateLimit | None, now: datetime) -> None:
    """None for no limit; a link of which nothing else is said goes with it."""
    ends = ordered(a_id, b_id)
    if limit is not None:
        insert_missing(tx, link, [_row(Link(*ends, set_at=now))])
    document = to_document(limit) if limit else None
    tx.execute(link.update().where(_between(*ends)).values(rate_limit=document))
    said = (link.c.bits_per_second, link.c.latency_ms, link.c.price_per_gb, link.c.rate_limit)
    if limit is None:
        tx.execute(link.delete().where(_between(*ends), *(column.is_(None) for column in said)))


def delete(tx: Connection, a_id: str, b_id: str) -> bool:
    """Whether there was one."""
    return tx.execute(link.delete().where(_between(a_id, b_id))).rowcount > 0


def delete_of(tx: Connection, site_id: str) -> None:
    """Of a site that goes, with what was measured from it."""
    tx.execute(link.delete().where(or_(link.c.a_id == site_id, link.c.b_id == site_id)))
    tx.execute(bandwidth.delete().where(bandwidth.c.source_id == site_id))


def find(tx: Connection, a_id: str, b_id: str) -> Link | None:
    row = tx.execute(select(link).where(_between(a_id, b_id))).first()
    return _link(row) if row else None


def all_links(tx: Connection) -> Mapping[tuple[str, str], Link]:
    """By their ends, as `ordered` gives them."""
    return {(row.a_id, row.b_id): _link(row) for row in tx.execute(_ALL)}


def leads_away(tx: Connection, site_id: str) -> bool:
    """True if a link leads from this site to another one."""
    return tx.execute(_AWAY, {"site": site_id}).first() is not None


def bandwidths(tx: Connection, volume_id: str | None = None) -> Sequence[Bandwidth]:
    query = select(bandwidth).order_by(bandwidth.c.volume_id, bandwidth.c.source_id)
    if volume_id is not None:
        query = query.where(bandwidth.c.volume_id == volume_id)
    return [
        Bandwidth(row.volume_id, row.source_id, row.bytes_per_second, row.fills, row.measured_at)
        for row in tx.execute(query)
    ]


def bandwidth_of(tx: Connection, volume_id: str, source_id: str) -> Bandwidth | None:
    return next((one for one in bandwidths(tx, volume_id) if one.source_id == source_id), None)


def put_bandwidth(tx: Connection, value: Bandwidth) -> None:
    insert_missing(tx, bandwidth, [asdict(value)])
    key = and_(bandwidth.c.volume_id == value.volume_id, bandwidth.c.source_id == value.source_id)
    tx.execute(bandwidth.update().where(key).values(**asdict(value)))


def put_rate(tx: Connection, value: FillRate) -> None:
    """How far the fill of a cached commit has come, beside its row."""
    row = {**asdict(replace(value, given={})), "given": [[*key, size] for key, size in value.given.items()]}
    insert_missing(tx, fill_rate, [row])
    tx.execute(fill_rate.update().where(fill_rate.c.cached_id == value.cached_id).values(**row))


def rates(tx: Connection) -> Mapping[str, FillRate]:
    """By the id of the cached commit."""
    return {row.cached_id: _rate(row) for row in tx.execute(select(fill_rate))}


def _between(a_id: str, b_id: str) -> ColumnElement[bool]:
    first, second = ordered(a_id, b_id)
    return and_(link.c.a_id == first, link.c.b_id == second)


def _row(value: Link) -> dict[str, Any]:
    row = asdict(value)
    del row["limit"]
    return row


def _rate(row: Row[Any]) -> FillRate:
    given = {SourceKey(SourceKind(kind), id_): size for kind, id_, size in row.given or ()}
    return FillRate(row.cached_id, row.source_id, row.fetched_bytes, row.seconds, row.files, row.at, given)


def _link(row: Row[Any]) -> Link:
    limit = from_document(RateLimit, row.rate_limit) if row.rate_limit else None
    return Link(row.a_id, row.b_id, row.bits_per_second, row.latency_ms, row.price_per_gb, row.set_at, limit)
