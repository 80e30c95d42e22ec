"""Secrets of projects. Values go in and out sealed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import Connection, Row, Select, String, cast, select

from millpond.db.tables import job, secret
from millpond.model.job_spec import JobSpec
from millpond.model.secret import ProjectSecret


def insert(tx: Connection, value: ProjectSecret) -> None:
    """IntegrityError when the name is taken."""
    tx.execute(
        secret.insert().values(
            id=value.id, project_id=value.project_id, name=value.name, value=value.sealed,
            created_at=value.created_at, created_by=value.created_by,
            changed_at=value.changed_at, changed_by=value.changed_by,
        )
    )  # fmt: skip


def change(tx: Connection, value: ProjectSecret) -> None:
    changed = {"value": value.sealed, "changed_at": value.changed_at, "changed_by": value.changed_by}
    tx.execute(secret.update().where(secret.c.id == value.id).values(**changed))


def find(tx: Connection, project_id: str, name: str) -> ProjectSecret | None:
    row = tx.execute(_of(project_id).where(secret.c.name == name)).first()
    return _value(row) if row else None


def page(tx: Connection, project_id: str, *, limit: int, after: str = "") -> Sequence[ProjectSecret]:
    """At most `limit` secrets by name, behind the name `after`."""
    query = _of(project_id).where(secret.c.name > after).order_by(secret.c.name).limit(limit)
    return [_value(row) for row in tx.execute(query)]


def names(tx: Connection, project_id: str) -> Sequence[str]:
    return tx.scalars(select(secret.c.name).where(secret.c.project_id == project_id)).all()


def of_projects(tx: Connection, project_ids: Collection[str]) -> dict[tuple[str, str], ProjectSecret]:
    """All of these projects, by project and name."""
    if not project_ids:
        return {}
    rows = tx.execute(select(secret).where(secret.c.project_id.in_(sorted(project_ids))))
    return {(row.project_id, row.name): _value(row) for row in rows}


def jobs_that_need(tx: Connection, project_id: str, name: str) -> Sequence[str]:
    """Names of jobs that have not ended and are given this secret."""
    query = select(job.c.name, job.c.spec).where(
        job.c.project_id == project_id, job.c.ended_at.is_(None), cast(job.c.spec, String).like(f'%"{name}"%')
    )
    return sorted(row.name for row in tx.execute(query) if name in JobSpec.from_document(row.spec).secrets.values())


def delete(tx: Connection, secret_id: str) -> None:
    tx.execute(secret.delete().where(secret.c.id == secret_id))


def _of(project_id: str) -> Select[Any]:
    return select(secret).where(secret.c.project_id == project_id)


def _value(row: Row[Any]) -> ProjectSecret:
    values = dict(row._mapping)
    return ProjectSecret(sealed=values.pop("value"), **values)
