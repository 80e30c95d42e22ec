"""Replicas of the lake, what each holds, and what it lacks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, and_, bindparam, exists, func, or_, select

from millpond.db.tables import commit, pack, page_pack, site
from millpond.db.tables import lake_replica as replica
from millpond.db.tables import lake_replica_commit as replica_commit
from millpond.db.tables import lake_replica_pack as replica_pack
from millpond.db.tables import lake_replica_site as replica_site
from millpond.model.lake_replica import LakeReplica, LakeReplicaLag

# Made once: it is asked with every exchange of an agent.
_OF_SITE = (
    select(replica)
    .where(exists().where(replica_site.c.replica_id == replica.c.id, replica_site.c.site_id == bindparam("site")))
    .order_by(replica.c.name)
)


def insert(tx: Connection, value: LakeReplica) -> None:
    """IntegrityError when the name is taken."""
    tx.execute(
        replica.insert().values(
            id=value.id, name=value.name, url=value.url, endpoint=value.endpoint, region=value.region,
            credentials=value.sealed, created_at=value.created_at, created_by=value.created_by,
        )
    )  # fmt: skip
    for site_id in value.sites:
        tx.execute(replica_site.insert().values(replica_id=value.id, site_id=site_id))


def all_of(tx: Connection) -> Sequence[LakeReplica]:
    """By name."""
    return _values(tx, select(replica).order_by(replica.c.name))


def find(tx: Connection, name: str) -> LakeReplica | None:
    return next(iter(_values(tx, select(replica).where(replica.c.name == name))), None)


def names(tx: Connection) -> Sequence[str]:
    return tx.scalars(select(replica.c.name).order_by(replica.c.name)).all()


def site_names(tx: Connection, replica_id: str) -> Sequence[str]:
    query = select(site.c.name).join(replica_site, replica_site.c.site_id == site.c.id)
    return tx.scalars(query.where(replica_site.c.replica_id == replica_id).order_by(site.c.name)).all()


def change(tx: Connection, replica_id: str, **values: Any) -> None:
    tx.execute(replica.update().where(replica.c.id == replica_id).values(**values))


def delete(tx: Connection, replica_id: str) -> None:
    tx.execute(replica.delete().where(replica.c.id == replica_id))


def take(tx: Connection, replica_id: str, who: str, *, now: datetime, until: datetime) -> bool:
    """Whether `who` alone may write to the replica until then. Taking it again makes it longer."""
    is_free = or_(replica.c.worker.is_(None), replica.c.worker == who, replica.c.worker_until < now)
    taken = replica.update().where(replica.c.id == replica_id, is_free).values(worker=who, worker_until=until)
    return tx.execute(taken).rowcount > 0


def release(tx: Connection, who: str | None = None) -> None:
    """From `who`, or from whoever has one."""
    held = replica.c.worker.is_not(None) if who is None else replica.c.worker == who
    tx.execute(replica.update().where(held).values(worker=None, worker_until=None))


def holding(tx: Connection, commit_id: str) -> Sequence[LakeReplica]:
    """Those that hold a commit entirely, by name."""
    held = exists().where(replica_commit.c.replica_id == replica.c.id, replica_commit.c.commit_id == commit_id)
    return _values(tx, select(replica).where(held).order_by(replica.c.name))


def of_site(tx: Connection, site_id: str) -> Sequence[LakeReplica]:
    """Those that a site reads from, by name."""
    return _values(tx, _OF_SITE, {"site": site_id})


def lag(tx: Connection, replica_id: str) -> LakeReplicaLag:
    commits, since = tx.execute(select(func.count(), func.min(commit.c.time)).where(lacks_commit(replica_id))).one()
    held = exists().where(replica_pack.c.pack_id == pack.c.id, replica_pack.c.replica_id == replica_id)
    needed = exists().where(page_pack.c.pack_id == pack.c.id)
    packs, size = tx.execute(select(func.count(), func.sum(pack.c.bytes)).where(needed, ~held)).one()
    return LakeReplicaLag(commits, packs, int(size or 0), since)


def held(tx: Connection, replica_id: str) -> tuple[int, int]:
    """How many packs it holds, and their bytes."""
    query = select(func.count(), func.sum(pack.c.bytes)).join(replica_pack, replica_pack.c.pack_id == pack.c.id)
    count, size = tx.execute(query.where(replica_pack.c.replica_id == replica_id)).one()
    return count, int(size or 0)


def lacks_commit(replica_id: str) -> ColumnElement[bool]:
    return ~exists().where(and_(replica_commit.c.commit_id == commit.c.id, replica_commit.c.replica_id == replica_id))


def _values(tx: Connection, query: Select[Any], values: Mapping[str, str] | None = None) -> list[LakeReplica]:
    rows = tx.execute(query, values or {}).all()
    if not rows:
        return []
    sites: dict[str, list[str]] = {}
    for one in tx.execute(select(replica_site).where(replica_site.c.replica_id.in_([row.id for row in rows]))):
        sites.setdefault(one.replica_id, []).append(one.site_id)
    return [_value(row, sites.get(row.id, ())) for row in rows]


def _value(row: Row[Any], sites: Iterable[str]) -> LakeReplica:
    return LakeReplica(
        id=row.id, name=row.name, url=row.url, endpoint=row.endpoint, region=row.region, sealed=row.credentials,
        created_at=row.created_at, created_by=row.created_by, sites=tuple(sites), synced_at=row.synced_at,
        cleaned_at=row.cleaned_at, problem=row.problem, failed_at=row.failed_at,
    )  # fmt: skip


def by_id(tx: Connection) -> Mapping[str, str]:
    """The names of all replicas."""
    return {row.id: row.name for row in tx.execute(select(replica.c.id, replica.c.name))}
