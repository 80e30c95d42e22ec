"""Mounts by name, and the jobs that use one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Row, Select, String, cast, select

from millpond.db.tables import job, mount, project, site
from millpond.model.job_spec import JobSpec
from millpond.model.mount import SharedMount


def insert(tx: Connection, value: SharedMount) -> None:
    """IntegrityError when the name is taken."""
    tx.execute(mount.insert().values(id=value.id, **_values(value)))


def change(tx: Connection, value: SharedMount) -> None:
    tx.execute(mount.update().where(mount.c.id == value.id).values(**_values(value)))


def find(tx: Connection, name: str) -> SharedMount | None:
    row = tx.execute(_all().where(mount.c.name == name)).first()
    return _value(row) if row else None


def by_name(tx: Connection) -> Mapping[str, SharedMount]:
    return {row.name: _value(row) for row in tx.execute(_all())}


def delete(tx: Connection, mount_id: str) -> None:
    tx.execute(mount.delete().where(mount.c.id == mount_id))


def jobs_that_use(tx: Connection, name: str) -> Sequence[str]:
    """`project/job` of jobs that have not ended and mount it."""
    query = (
        select(project.c.name.label("project"), job.c.name, job.c.spec)
        .join(project, project.c.id == job.c.project_id)
        .where(job.c.ended_at.is_(None), cast(job.c.spec, String).like(f'%"{name}"%'))
    )
    return sorted(
        f"{row.project}/{row.name}"
        for row in tx.execute(query)
        if name in {one.mount for one in JobSpec.from_document(row.spec).mounts}
    )


def _all() -> Select[Any]:
    joined = mount.outerjoin(site, site.c.id == mount.c.site_id)
    return select(mount, site.c.name.label("site")).select_from(joined).order_by(mount.c.name)


def _values(value: SharedMount) -> dict[str, Any]:
    return {
        "name": value.name,
        "path": value.path,
        "site_id": value.site_id,
        "read_only": value.read_only,
        "all_projects": value.all_projects,
        "project_ids": sorted(value.project_ids),
        "created_at": value.created_at,
        "created_by": value.created_by,
        "changed_at": value.changed_at,
        "changed_by": value.changed_by,
    }


def _value(row: Row[Any]) -> SharedMount:
    return SharedMount(**{**row._mapping, "project_ids": frozenset(row.project_ids)})
