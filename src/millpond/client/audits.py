"""The audit log, over the API: searched, exported, and how long it is kept. `millpond.audit_log` is its SDK."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from millpond.client.credentials import resolve_target
from millpond.client.http import Api, segment
from millpond.wire.people import AuditRecord, AuditRetention, AuditRetentionPut

_PIECE = 1 << 16


def list_entries(
    api: Api, project: str | None = None, *, at_most: int | None = None, **chosen: Any
) -> Iterator[AuditRecord]:
    """Newest first: of a project, or of everything. `chosen`: who, action, subject, address, since, until, q."""
    return api.items(_path(project), AuditRecord, at_most=at_most, **_given(chosen))


def export_entries(api: Api, project: str | None = None, *, format: str = "jsonl", **chosen: Any) -> Iterator[bytes]:
    """Oldest first, in pieces of lines."""
    with api.stream(f"{_path(project)}/export", _PIECE, format=format, **_given(chosen)) as answer:
        yield from answer.pieces


def get_retention(api: Api) -> AuditRetention:
    return api.get("/audit/retention", AuditRetention)


def set_retention(api: Api, keep_seconds: int | None) -> AuditRetention:
    return api.send("PUT", "/audit/retention", AuditRetention, AuditRetentionPut(keep_seconds=keep_seconds))


def audit_log(
    *,
    who: str | None = None,
    action: str | None = None,
    subject: str | None = None,
    project: str | None = None,
    address: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    text: str | None = None,
    limit: int | None = 1000,
    server: str | None = None,
) -> list[AuditRecord]:
    """Audit entries, newest first: what was done (`action`), by whom, to what (`subject`), from where.

    With `project` a project administrator may ask; for everything it takes a site administrator. `action` is a noun
    (`user`) or noun and verb (`user.create`); a `subject` may end with `*`.
    """
    target = resolve_target(server)
    with Api(target.server, target.token) as api:
        return list(
            list_entries(
                api, project, at_most=limit, who=who, action=action, subject=subject, address=address, since=since,
                until=until, q=text,
            )
        )  # fmt: skip


def _path(project: str | None) -> str:
    return f"/projects/{segment(project)}/audit" if project else "/audit"


def _given(chosen: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value.isoformat() if isinstance(value, datetime) else value
        for name, value in chosen.items()
        if value is not None
    }
