"""The table of who changed what. Rows are added and read; the database refuses everything else but `remove_due`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import Column, ColumnElement, Connection, Row, Select, Text, cast, false, func, or_, select, text

from millpond.db.tables import audit, audit_forward, project, server
from millpond.model.json_text import escaped
from millpond.model.names import SYSTEM_DATASETS

# Held by transactions that add rows, on PostgreSQL, so that a reader can wait until none is under way.
_LOCK = 8423


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
    # Where from. None where an older version wrote it, and for what the server does by itself.
    address: str | None = None
    # What the caller showed: `session ID`, `token ID NAME`.
    via: str | None = None
    request: str | None = None
    # Of a change: what differs, as it was and as it is.
    before: Mapping[str, Any] = field(default_factory=dict)
    after: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """None: not asked for. `action` is a noun (`user`) or noun and verb (`user.create`); a `subject` that ends with `*`
    is the beginning of one; `until` is not included."""

    who: str | None = None
    action: str | None = None
    subject: str | None = None
    project_id: str | None = None
    address: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    words: str | None = None


@dataclass(frozen=True, slots=True)
class Forwarded:
    """Up to which entry a receiver was sent everything; since when and why it cannot be reached."""

    sent_id: int
    sent_at: datetime | None = None
    failing_since: datetime | None = None
    problem: str | None = None


def insert(
    tx: Connection,
    *,
    at: datetime,
    actor: str,
    action: str,
    subject: str,
    project_id: str | None,
    details: Mapping[str, Any],
    address: str | None = None,
    via: str | None = None,
    request: str | None = None,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
) -> None:
    if tx.dialect.name != "sqlite":
        tx.execute(text("SELECT pg_advisory_xact_lock_shared(:lock)"), {"lock": _LOCK})
    tx.execute(
        audit.insert().values(
            at=at, actor=actor, action=action, subject=subject, project_id=project_id, details=dict(details),
            address=address or None, via=via or None, request=request or None,
            before=dict(before) if before else None, after=dict(after) if after else None,
        )
    )  # fmt: skip


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
    return [_record(row) for row in tx.execute(_newest().where(wanted, *people).limit(limit))]


def page(
    tx: Connection, chosen: AuditFilter | None = None, *, limit: int, before: int | None = None
) -> Sequence[AuditRecord]:
    """Newest first; only records with an id below `before`."""
    query = _newest().where(*_conditions(tx, chosen or AuditFilter())).limit(limit)
    if before is not None:
        query = query.where(audit.c.id < before)
    return [_record(row) for row in tx.execute(query)]


def after(
    tx: Connection, number: int, chosen: AuditFilter | None = None, *, up_to: int, limit: int
) -> Sequence[AuditRecord]:
    """Oldest first: those behind `number`, up to and with `up_to`."""
    query = _records().where(audit.c.id > number, audit.c.id <= up_to, *_conditions(tx, chosen or AuditFilter()))
    return [_record(row) for row in tx.execute(query.order_by(audit.c.id).limit(limit))]


def newest_id(tx: Connection) -> int:
    return tx.scalar(select(func.max(audit.c.id))) or 0


def settled_id(tx: Connection) -> int | None:
    """The number up to which no row can come any more; None while that cannot be told. Inside a write transaction.

    PostgreSQL gives numbers out before rows are committed. Only asked for, never waited for: two that add rows could
    otherwise wait for each other through the one that reads.
    """
    if tx.dialect.name == "sqlite":
        return newest_id(tx)
    is_still = tx.scalar(text("SELECT pg_try_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    return newest_id(tx) if is_still else None


def count_behind(tx: Connection, number: int) -> int:
    return tx.scalar(select(func.count()).where(audit.c.id > number)) or 0


# Retention -----------------------------------------------------------------------------------------


def keep_seconds(tx: Connection) -> int | None:
    """None: for ever."""
    found: int | None = tx.scalar(select(server.c.audit_keep_seconds))
    return found


def set_keep_seconds(tx: Connection, seconds: int | None) -> None:
    tx.execute(server.update().values(audit_keep_seconds=seconds))


def remove_due(tx: Connection, before: datetime, *, limit: int) -> int:
    """Remove at most `limit` of those before a moment; how many there were. Nothing else can remove any."""
    oldest = select(audit.c.id).where(audit.c.at < before).order_by(audit.c.id).limit(limit)
    tx.execute(server.update().values(audit_remove_before=before))
    removed = tx.execute(audit.delete().where(audit.c.id.in_(oldest.scalar_subquery()))).rowcount
    tx.execute(server.update().values(audit_remove_before=None))
    return removed


# Forwarding ----------------------------------------------------------------------------------------


def forwarded(tx: Connection, target: str) -> Forwarded | None:
    row = tx.execute(select(audit_forward).where(audit_forward.c.target == target)).first()
    return Forwarded(row.sent_id, row.sent_at, row.failing_since, row.problem) if row else None


def set_forwarded(tx: Connection, target: str, value: Forwarded) -> None:
    values = {
        "sent_id": value.sent_id, "sent_at": value.sent_at, "failing_since": value.failing_since,
        "problem": value.problem,
    }  # fmt: skip
    if not tx.execute(audit_forward.update().where(audit_forward.c.target == target).values(**values)).rowcount:
        tx.execute(audit_forward.insert().values(target=target, **values))


def _records() -> Select[Any]:
    return select(audit, project.c.name.label("project")).outerjoin(project, project.c.id == audit.c.project_id)


def _newest() -> Select[Any]:
    return _records().order_by(audit.c.id.desc())


def _conditions(tx: Connection, chosen: AuditFilter) -> list[ColumnElement[bool]]:
    alike = {audit.c.actor: chosen.who, audit.c.project_id: chosen.project_id, audit.c.address: chosen.address}
    found: list[ColumnElement[bool]] = [column == value for column, value in alike.items() if value is not None]
    if chosen.action is not None:
        is_one = "." in chosen.action
        found.append(audit.c.action == chosen.action if is_one else _begins(tx, audit.c.action, f"{chosen.action}."))
    if chosen.subject is not None:
        begins = chosen.subject.endswith("*")
        beginning = chosen.subject.removesuffix("*")
        found.append(_begins(tx, audit.c.subject, beginning) if begins else audit.c.subject == chosen.subject)
    if chosen.since is not None:
        found.append(audit.c.at >= chosen.since)
    if chosen.until is not None:
        found.append(audit.c.at < chosen.until)
    if chosen.words:
        found.append(_mentions(chosen.words))
    return found


def _begins(tx: Connection, column: Column[str], beginning: str) -> ColumnElement[bool]:
    """By the index: SQLite compares bytes, and so has no need of LIKE, which ignores case there."""
    if tx.dialect.name == "sqlite" and beginning:
        return (column >= beginning) & (column < beginning[:-1] + chr(ord(beginning[-1]) + 1))
    return column.startswith(beginning, autoescape=True)


def _mentions(words: str) -> ColumnElement[bool]:
    """Anywhere, whatever the case. Documents are stored as JSON of ASCII alone."""
    plain = [audit.c.actor, audit.c.action, audit.c.subject, audit.c.address, audit.c.via]
    documents = [cast(column, Text) for column in (audit.c.details, audit.c.before, audit.c.after)]
    return or_(
        *(column.icontains(words, autoescape=True) for column in plain),
        *(column.icontains(escaped(words), autoescape=True) for column in documents),
    )


def _is_about(nouns: Collection[str]) -> ColumnElement[bool]:
    return or_(false(), *(audit.c.action.startswith(f"{noun}.", autoescape=True) for noun in nouns))


def _record(row: Row[Any]) -> AuditRecord:
    return AuditRecord(
        row.id, row.at, row.actor, row.action, row.subject, row.project, row.details, row.address, row.via, row.request,
        row.before or {}, row.after or {},
    )  # fmt: skip
