"""Sites and what stands at them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, bindparam, func, select

from millpond.db.tables import compute, site, volume
from millpond.model.documents import from_document, to_document
from millpond.model.rate_limit import RateLimit
from millpond.model.volume import Serving, Site


@dataclass(frozen=True, slots=True)
class SiteCounts:
    site: Site
    computes: int
    volumes: int


# Made once: they are asked with every exchange of an agent.
_BY_ID = select(site).where(site.c.id == bindparam("wanted"))
_LIMITS = select(site.c.id, site.c.rate_limit).where(site.c.rate_limit.is_not(None))


def insert(tx: Connection, value: Site) -> None:
    """IntegrityError when the name is taken."""
    tx.execute(site.insert().values(id=value.id, name=value.name, created_at=value.created_at))


def find(tx: Connection, name: str) -> Site | None:
    row = tx.execute(select(site).where(site.c.name == name)).first()
    return _site(row) if row else None


def by_id(tx: Connection) -> Mapping[str, str]:
    """The names of all sites."""
    return {row.id: row.name for row in tx.execute(select(site.c.id, site.c.name).order_by(site.c.name))}


def of_computes(tx: Connection, names: Collection[str]) -> Mapping[str, str]:
    """The name of the site of each of these computes."""
    query = select(compute.c.name, site.c.name.label("site")).join(site, site.c.id == compute.c.site_id)
    rows = tx.execute(query.where(compute.c.name.in_(sorted(names)), compute.c.detached_at.is_(None))) if names else ()
    return {row.name: row.site for row in rows}


def change(tx: Connection, site_id: str, **values: Any) -> None:
    tx.execute(site.update().where(site.c.id == site_id).values(**values))


def get(tx: Connection, site_id: str) -> Site | None:
    row = tx.execute(_BY_ID, {"wanted": site_id}).first()
    return _site(row) if row else None


def put_limit(tx: Connection, site_id: str, limit: RateLimit | None) -> None:
    tx.execute(site.update().where(site.c.id == site_id).values(rate_limit=to_document(limit) if limit else None))


def put_placement_seconds(tx: Connection, site_id: str, seconds: int | None) -> None:
    tx.execute(site.update().where(site.c.id == site_id).values(placement_seconds=seconds))


def placement_seconds(tx: Connection, site_id: str) -> int | None:
    """How long placements last there; None where nobody has said it."""
    found: int | None = tx.scalar(select(site.c.placement_seconds).where(site.c.id == site_id))
    return found


def limits(tx: Connection) -> Mapping[str, RateLimit]:
    """By the ids of sites, of those that have one."""
    return {row.id: from_document(RateLimit, row.rate_limit) for row in tx.execute(_LIMITS)}


def serve_on(tx: Connection, site_id: str, serving: Serving | None) -> None:
    values = {
        "serving_host": serving.host if serving else None,
        "serving_tls_cert": serving.tls_cert if serving else None,
        "serving_tls_key": serving.tls_key if serving else None,
    }
    tx.execute(site.update().where(site.c.id == site_id).values(**values))


def all_of(tx: Connection) -> Sequence[Site]:
    """By name."""
    return [_site(row) for row in tx.execute(select(site).order_by(site.c.name))]


def addresses(tx: Connection) -> Mapping[str, str]:
    """By the ids of sites, of those that have one."""
    query = select(site.c.id, site.c.address).where(site.c.address.is_not(None))
    return {row.id: row.address for row in tx.execute(query)}


def delete(tx: Connection, site_id: str) -> None:
    """IntegrityError while something stands there."""
    # Detached computes are kept for the placements that refer to them, and any site will do for that.
    other = select(site.c.id).where(site.c.id != site_id).order_by(site.c.created_at, site.c.id).limit(1)
    gone = (compute.c.site_id == site_id) & compute.c.detached_at.is_not(None)
    tx.execute(compute.update().where(gone).values(site_id=func.coalesce(other.scalar_subquery(), site_id)))
    tx.execute(site.delete().where(site.c.id == site_id))


def standing_at(tx: Connection, site_id: str) -> tuple[Sequence[str], Sequence[str]]:
    """Names of the volumes and of the computes of a site."""
    volumes = tx.scalars(select(volume.c.name).where(volume.c.site_id == site_id).order_by(volume.c.name)).all()
    standing = (compute.c.site_id == site_id) & compute.c.detached_at.is_(None)
    computes = tx.scalars(select(compute.c.name).where(standing).order_by(compute.c.name)).all()
    return volumes, computes


def names(tx: Connection) -> Sequence[str]:
    return tx.scalars(select(site.c.name).order_by(site.c.name)).all()


def page(tx: Connection, *, limit: int, after: str = "") -> Sequence[SiteCounts]:
    """At most `limit` sites by name, behind the name `after`."""
    standing = (compute.c.site_id == site.c.id) & compute.c.detached_at.is_(None)
    computes = select(func.count()).where(standing).scalar_subquery()
    volumes = select(func.count()).where(volume.c.site_id == site.c.id).scalar_subquery()
    query = select(site, computes.label("computes"), volumes.label("volumes")).where(site.c.name > after)
    rows = tx.execute(query.order_by(site.c.name).limit(limit))
    return [SiteCounts(_site(row), row.computes, row.volumes) for row in rows]


def _site(row: Row[Any]) -> Site:
    limit = from_document(RateLimit, row.rate_limit) if row.rate_limit else None
    return Site(
        id=row.id,
        name=row.name,
        created_at=row.created_at,
        address=row.address,
        limit=limit,
        serving=Serving(row.serving_host, row.serving_tls_cert, row.serving_tls_key) if row.serving_host else None,
        placement_seconds=row.placement_seconds,
        lake_endpoint=row.lake_endpoint,
    )
