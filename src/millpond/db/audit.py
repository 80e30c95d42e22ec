"""The table of who changed what. Rows are added and read, never changed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, false, or_, select

from millpond.db.tables import audit, project
from millpond.model.names import SYSTEM_DATASETS


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


def latest(
    tx: Connection,
    *,
    in_projects: Collection[str],
    among: Collection[str] | None,
    places: Collection[str],
    limit: int,
) -> Sequence[AuditRecord]:
    """Newest first: actions on the nouns `in_projects` in these projects (None: in all), and on `places` in none.

    What jobs commit, and their code, is left out: the jobs themselves tell of it.
    """
    ours = audit.c.project_id.is_not(None) if among is None else audit.c.project_id.in_(among)
    wanted = (ours & _is_about(in_projects)) | (audit.c.project_id.is_(None) & _is_about(places))
    people = [audit.c.subject.not_like(f"%/{name}") for name in SYSTEM_DATASETS]
    return [_record(row) for row in tx.execute(_records().where(wanted, *people).limit(limit))]


def page(tx: Connection, *, limit: int, before: int | None = None) -> Sequence[AuditRecord]:
    """Newest first; only records with an id below `before`."""
    query = _records().limit(limit)
    if before is not None:
        query = query.where(audit.c.id < before)
    return [_record(row) for row in tx.execute(query)]


def _records() -> Select[Any]:
    query = select(audit, project.c.name.label("project")).outerjoin(project, project.c.id == audit.c.project_id)
    return query.order_by(audit.c.id.desc())


def _is_about(nouns: Collection[str]) -> ColumnElement[bool]:
    return or_(false(), *(audit.c.action.startswith(f"{noun}.", autoescape=True) for noun in nouns))


def _record(row: Row[Any]) -> AuditRecord:
    return AuditRecord(row.id, row.at, row.actor, row.action, row.subject, row.project, row.details)
