"""What was measured on volumes: the space that sets of cached commits share, and what projects may take at most."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, select

from millpond.db.insert import insert_missing
from millpond.db.tables import project, volume_limit, volume_share
from millpond.model.volume import Share


@dataclass(frozen=True, slots=True)
class Limit:
    """What one project may take of a volume."""

    project_id: str
    project: str
    bytes: int


def replace(tx: Connection, volume_id: str, project_id: str, measured: Collection[Share]) -> None:
    """What an agent measured of a project on a volume, in place of all it said before."""
    mine = (volume_share.c.volume_id == volume_id) & (volume_share.c.project_id == project_id)
    tx.execute(volume_share.delete().where(mine))
    rows = [
        {
            "volume_id": volume_id,
            "project_id": project_id,
            "members": sorted(share.members),
            "bytes": share.bytes,
            "inodes": share.inodes,
        }
        for share in measured
    ]
    if rows:
        tx.execute(volume_share.insert(), rows)


def of_volume(tx: Connection, volume_id: str) -> list[Share]:
    """Every share measured on a volume. Members may have gone since."""
    query = select(volume_share).where(volume_share.c.volume_id == volume_id).order_by(volume_share.c.id)
    return [Share(frozenset(row.members), row.bytes, row.inodes) for row in tx.execute(query)]


def members_by_project(tx: Connection, volume_id: str) -> Mapping[str, frozenset[str]]:
    """The cached commits that were measured last, of each project."""
    query = select(volume_share.c.project_id, volume_share.c.members).where(volume_share.c.volume_id == volume_id)
    found: dict[str, frozenset[str]] = {}
    for row in tx.execute(query):
        found[row.project_id] = found.get(row.project_id, frozenset()).union(row.members)
    return found


def limits_of(tx: Connection, volume_id: str) -> Sequence[Limit]:
    """The projects that may not take all of a volume, by name."""
    query = (
        select(volume_limit, project.c.name.label("project"))
        .join(project, project.c.id == volume_limit.c.project_id)
        .where(volume_limit.c.volume_id == volume_id)
        .order_by(project.c.name)
    )
    return [Limit(row.project_id, row.project, row.bytes) for row in tx.execute(query)]


def limits_by_project(tx: Connection, volume_id: str) -> Mapping[str, int]:
    return {limit.project_id: limit.bytes for limit in limits_of(tx, volume_id)}


def set_limit(tx: Connection, volume_id: str, project_id: str, limit: int) -> None:
    mine = (volume_limit.c.volume_id == volume_id) & (volume_limit.c.project_id == project_id)
    if tx.execute(volume_limit.update().where(mine).values(bytes=limit)).rowcount == 0:
        insert_missing(tx, volume_limit, [{"volume_id": volume_id, "project_id": project_id, "bytes": limit}])


def remove_limit(tx: Connection, volume_id: str, project_id: str) -> None:
    mine = (volume_limit.c.volume_id == volume_id) & (volume_limit.c.project_id == project_id)
    tx.execute(volume_limit.delete().where(mine))
