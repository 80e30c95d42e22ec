"""Who changed what: searched and exported, by site administrators and of a project by its administrators."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from enum import StrEnum
from itertools import islice
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import StreamingResponse

from millpond.api.access import Admin, DepsOf, SiteAdmin
from millpond.api.paging import DEFAULT_LIMIT, Cursor, Limit, page
from millpond.db.audit import AuditFilter, AuditRecord
from millpond.model.people import Actor
from millpond.services.audits import retention
from millpond.services.audits.forwarding import entry_of, lines_of
from millpond.services.deps import Deps
from millpond.services.people import access, audit
from millpond.wire import people as wire
from millpond.wire.base import Page

router = APIRouter(tags=["audit"])

_AT_ONCE = 200

Text = Annotated[str | None, Query(max_length=300)]
Who = Annotated[str | None, Query(max_length=300, description="Name of a user, agent or service account.")]
Action = Annotated[
    str | None, Query(max_length=63, description="`user.create`, or `user` for all that was done to any.")
]
Subject = Annotated[str | None, Query(max_length=300, description="To what; with `*` at its end, a beginning.")]
Address = Annotated[str | None, Query(max_length=64, description="The address that the request came from.")]
Moment = Annotated[datetime | None, Query(description="ISO 8601; without an offset, UTC.")]
Words = Annotated[str | None, Query(max_length=300, description="Found anywhere in an entry, whatever the case.")]


class ExportFormat(StrEnum):
    JSONL = "jsonl"
    SYSLOG = "syslog"


@router.get("/audit")
def list_audit(
    actor: SiteAdmin, deps: DepsOf, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None, who: Who = None,
    action: Action = None, subject: Subject = None, project: Text = None, address: Address = None,
    since: Moment = None, until: Moment = None, q: Words = None,
) -> Page[wire.AuditRecord]:  # fmt: skip
    """Newest first."""
    chosen = _filter(who, action, subject, _project_id(deps, actor, project), address, since, until, q)
    return page(audit.list_records(deps, chosen, limit=limit, cursor=cursor), _entry)


@router.get("/projects/{project}/audit")
def list_project_audit(
    scope: Admin, deps: DepsOf, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None, who: Who = None,
    action: Action = None, subject: Subject = None, address: Address = None, since: Moment = None,
    until: Moment = None, q: Words = None,
) -> Page[wire.AuditRecord]:  # fmt: skip
    """What was done in the project, newest first."""
    chosen = _filter(who, action, subject, scope.project.id, address, since, until, q)
    return page(audit.list_records(deps, chosen, limit=limit, cursor=cursor), _entry)


@router.get("/audit/export", response_class=StreamingResponse)
def export_audit(
    actor: SiteAdmin, deps: DepsOf, format: ExportFormat = ExportFormat.JSONL, who: Who = None, action: Action = None,
    subject: Subject = None, project: Text = None, address: Address = None, since: Moment = None,
    until: Moment = None, q: Words = None,
) -> StreamingResponse:  # fmt: skip
    """Oldest first, a line for each: JSON, or syslog (RFC 5424). The export is recorded itself."""
    chosen = _filter(who, action, subject, _project_id(deps, actor, project), address, since, until, q)
    return _streamed(audit.export(deps, actor, chosen, project=project), format)


@router.get("/projects/{project}/audit/export", response_class=StreamingResponse)
def export_project_audit(
    scope: Admin, deps: DepsOf, format: ExportFormat = ExportFormat.JSONL, who: Who = None, action: Action = None,
    subject: Subject = None, address: Address = None, since: Moment = None, until: Moment = None, q: Words = None,
) -> StreamingResponse:  # fmt: skip
    """As the export of everything, of one project."""
    chosen = _filter(who, action, subject, scope.project.id, address, since, until, q)
    return _streamed(audit.export(deps, scope.actor, chosen, project=scope.project.name), format)


@router.get("/audit/retention")
def get_audit_retention(actor: SiteAdmin, deps: DepsOf) -> wire.AuditRetention:
    """How long entries are kept."""
    return wire.AuditRetention(keep_seconds=retention.keep_seconds(deps))


@router.put("/audit/retention")
def put_audit_retention(body: wire.AuditRetentionPut, actor: SiteAdmin, deps: DepsOf) -> wire.AuditRetention:
    """Remove entries from a certain age on, at least 30 days; null keeps them for ever."""
    return wire.AuditRetention(keep_seconds=retention.set_keep_seconds(deps, actor, body.keep_seconds))


def _filter(
    who: str | None, action: str | None, subject: str | None, project_id: str | None, address: str | None,
    since: datetime | None, until: datetime | None, words: str | None,
) -> AuditFilter:  # fmt: skip
    return AuditFilter(who, action, subject, project_id, address, _utc(since), _utc(until), words)


def _utc(moment: datetime | None) -> datetime | None:
    return moment.replace(tzinfo=UTC) if moment is not None and moment.tzinfo is None else moment


def _project_id(deps: Deps, actor: Actor, name: str | None) -> str | None:
    if name is None:
        return None
    with deps.db.read() as tx:
        return access.find_project(tx, actor, name).id


def _entry(record: AuditRecord) -> wire.AuditRecord:
    return wire.AuditRecord.model_validate(record)


def _streamed(records: Iterator[AuditRecord], format: ExportFormat) -> StreamingResponse:
    is_json = format is ExportFormat.JSONL
    lines = (json.dumps(entry_of(one), ensure_ascii=False) for one in records) if is_json else _syslog(records)
    headers = {"Content-Disposition": f'attachment; filename="audit.{"jsonl" if is_json else "log"}"'}
    media_type = "application/x-ndjson" if is_json else "text/plain; charset=utf-8"
    return StreamingResponse(_pieces(lines), media_type=media_type, headers=headers)


def _syslog(records: Iterator[AuditRecord]) -> Iterator[str]:
    host = socket.gethostname()
    while found := list(islice(records, _AT_ONCE)):
        yield from (line for line, _ in lines_of(found, host))


def _pieces(lines: Iterable[str]) -> Iterator[bytes]:
    """Many lines at once: each piece goes through a thread."""
    waiting = iter(lines)
    while found := list(islice(waiting, _AT_ONCE)):
        yield ("\n".join(found) + "\n").encode()
