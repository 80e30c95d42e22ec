"""The table of who changed what. Rows are added and read, never changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select

from millpond.db.tables import audit, project


@dataclass(frozen=True, slots=True)
class AuditRecord:
    id: int
    at: datetime
    actor: str
    action: str
    subject: str
    # The project's name; None for what belongs to no project, or to one that is gone.
    project: str | None
    details: Mapping[str, Any]


def insert(
    tx: Connection,
    *,
    at: datetime,
    actor: str,
    action: str,
    subject: str,
    project_id: str | None,
    details: Mapping[str, Any],
) -> None:
    tx.execute(
        audit.insert().values(
            at=at, actor=actor, action=action, subject=subject, project_id=project_id, details=dict(details)
        )
    )


def page(tx: Connection, *, limit: int, before: int | None = None) -> Sequence[AuditRecord]:
    """Newest first; only records with an id below `before`."""
    query = (
        select(audit, project.c.name.label("project"))
        .outerjoin(project, project.c.id == audit.c.project_id)
        .order_by(audit.c.id.desc())
        .limit(limit)
    )
    if before is not None:
        query = query.where(audit.c.id < before)
    return [
        AuditRecord(row.id, row.at, row.actor, row.action, row.subject, row.project, row.details)
        for row in tx.execute(query)
    ]
