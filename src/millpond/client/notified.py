"""One's own notifications, for scripts."""

from __future__ import annotations

from collections.abc import Sequence

from millpond.client.credentials import resolve_target
from millpond.client.http import Api
from millpond.client.notifications import list_notifications, mark_read
from millpond.wire.notifications import Notification


def notifications(
    *, unread: bool = False, limit: int | None = None, project: str | None = None, server: str | None = None
) -> list[Notification]:
    """Your notifications, newest first; with `project`, only those of that project."""
    ends = resolve_target(server, project)
    with Api(ends.server, ends.token) as api:
        return list(list_notifications(api, unread=unread, project=project, limit=limit))


def mark_notifications_read(ids: Sequence[str] | None = None, *, server: str | None = None) -> int:
    """Mark those with these ids as read, or all; how many were unread."""
    ends = resolve_target(server)
    with Api(ends.server, ends.token) as api:
        return mark_read(api, ids)
