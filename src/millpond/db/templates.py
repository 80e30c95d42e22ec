"""Templates by name, and the jobs that wait for one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Row, String, cast, or_, select

from millpond.db.tables import job, project, template
from millpond.model.documents import from_document, to_document
from millpond.model.job import JobState
from millpond.model.template import Template, TemplateSpec

_WAITING = (JobState.QUEUED.value, JobState.PREEMPTED.value, JobState.SUSPENDED.value)


def insert(tx: Connection, value: Template) -> None:
    """IntegrityError when the name is taken."""
    tx.execute(template.insert().values(id=value.id, **_values(value)))


def change(tx: Connection, value: Template) -> None:
    tx.execute(template.update().where(template.c.id == value.id).values(**_values(value)))


def find(tx: Connection, name: str) -> Template | None:
    row = tx.execute(select(template).where(template.c.name == name)).first()
    return _value(row) if row else None


def by_name(tx: Connection) -> Mapping[str, Template]:
    return {row.name: _value(row) for row in tx.execute(select(template).order_by(template.c.name))}


def page(tx: Connection, *, limit: int, after: str = "") -> Sequence[Template]:
    """At most `limit` of them by name, behind the name `after`."""
    query = select(template).where(template.c.name > after).order_by(template.c.name).limit(limit)
    return [_value(row) for row in tx.execute(query)]


def delete(tx: Connection, template_id: str) -> None:
    tx.execute(template.delete().where(template.c.id == template_id))


def jobs_waiting_on(tx: Connection, name: str) -> Sequence[tuple[str, str, str]]:
    """Waiting jobs that name this template or queue, or are planned with it: id, project id, `project/job`."""
    named = f"%{name}%"
    query = (
        select(job.c.id, job.c.project_id, project.c.name.label("project"), job.c.name, job.c.spec, job.c.template)
        .join(project, project.c.id == job.c.project_id)
        .where(
            job.c.state.in_(_WAITING),
            or_(cast(job.c.spec, String).like(named), cast(job.c.template, String).like(named)),
        )
        .order_by(job.c.queued_at, job.c.id)
    )
    return [
        (row.id, row.project_id, f"{row.project}/{row.name}")
        for row in tx.execute(query)
        if name in {*(row.spec.get("on") or "").split(","), (row.template or {}).get("name")}
    ]


def _values(value: Template) -> dict[str, Any]:
    return {
        "name": value.name,
        "spec": to_document(value.spec),
        "created_at": value.created_at,
        "created_by": value.created_by,
        "changed_at": value.changed_at,
        "changed_by": value.changed_by,
    }


def _value(row: Row[Any]) -> Template:
    return Template(**{**row._mapping, "spec": from_document(TemplateSpec, row.spec)})
