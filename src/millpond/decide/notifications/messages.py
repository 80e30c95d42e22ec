"""How notifications are worded: titles of groups, the subject and text of an e-mail, the document of a webhook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape
from typing import Any

from millpond.model.notification import SCHEMA, Delivery, Notification, NotificationItem, NotificationKind
from millpond.model.quantity import format_count

_WORDS: Mapping[NotificationKind, tuple[str, str]] = {
    NotificationKind.JOB_FAILED: ("job failed", "jobs failed"),
    NotificationKind.JOB_SUCCEEDED: ("job succeeded", "jobs succeeded"),
    NotificationKind.JOB_PREEMPTED: ("job was preempted", "jobs were preempted"),
    NotificationKind.CACHE_REFUSED: ("commit was not cached", "commits were not cached"),
    NotificationKind.SOURCE_FAILING: ("source is failing", "sources are failing"),
    NotificationKind.MIRROR_FAILING: ("mirror is failing", "mirrors are failing"),
    NotificationKind.ENDPOINT_DRIFTING: ("endpoint is drifting", "endpoints are drifting"),
    NotificationKind.VOLUME_NEARLY_FULL: ("disk is nearly full", "disks are nearly full"),
    NotificationKind.BACKUP_FAILED: ("backup failed", "backups failed"),
    NotificationKind.CHANNEL_FAILING: ("channel is failing", "channels are failing"),
}
_MOST_SUBJECT = 150
_TEST_LINE = "This is a test. Notifications of Millpond reach you here."


@dataclass(frozen=True, slots=True)
class Email:
    subject: str
    text: str
    html: str


def words_of(kind: NotificationKind) -> str:
    """`job failed`: what a kind is called in lists."""
    return _WORDS[kind][0]


def title_of(notification: Notification) -> str:
    """`Job train failed`, or `12 jobs failed in vision`."""
    if notification.count == 1 and notification.items:
        return notification.items[0].title
    return _counted(notification.kind, notification.count, notification.project)


def summary_of(delivery: Delivery) -> str:
    """`Job train failed`, or `500 jobs failed in vision, 2 sources are failing in vision`."""
    if delivery.count == 1 and delivery.items:
        return _titled(delivery.items[0])
    names = {item.project_id: item.project for item in delivery.items}
    greatest = sorted(delivery.counts.items(), key=lambda one: (-one[1], one[0][0].value, one[0][1] or ""))
    return ", ".join(_counted(kind, count, names.get(project_id)) for (kind, project_id), count in greatest)


def email_of(delivery: Delivery, *, server: str) -> Email:
    summary, more = summary_of(delivery), delivery.count - len(delivery.items)
    rest = f"… and {format_count(more, 'more notification')}." if more > 0 else ""
    lines = [summary, ""] if delivery.count > 1 else []
    for item in delivery.items:
        lines += [_titled(item), *([item.text] if item.text else []), _url(server, item), ""]
    about = f"You get this because of your notification settings: {server}/account"
    text = "\n".join([*lines, *([rest, ""] if rest else []), "-- ", about, ""])
    return Email(_subject(summary), text, _html(delivery.items, summary, rest, about, server))


def test_email(*, server: str) -> Email:
    return Email(_subject("Test"), f"{_TEST_LINE}\n{server}\n", f"<p>{escape(_TEST_LINE)}</p>")


def document_of(delivery: Delivery, *, server: str) -> Mapping[str, Any]:
    """The body of a webhook."""
    names = {item.project_id: item.project for item in delivery.items}
    return {
        "schema": SCHEMA,
        "id": delivery.id,
        "created_at": delivery.created_at.isoformat(),
        "server": server,
        "test": False,
        "text": summary_of(delivery),
        "count": delivery.count,
        "counts": [
            {"kind": kind.value, "project": names.get(project_id), "count": count}
            for (kind, project_id), count in delivery.counts.items()
        ],
        "items": [
            {
                "kind": item.kind.value, "project": item.project, "subject": item.subject_id, "title": item.title,
                "text": item.text, "url": _url(server, item), "at": item.at.isoformat(),
            }
            for item in delivery.items
        ],
    }  # fmt: skip


def test_document(delivery_id: str, *, server: str, now: datetime) -> Mapping[str, Any]:
    return {
        "schema": SCHEMA, "id": delivery_id, "created_at": now.isoformat(), "server": server, "test": True,
        "text": _TEST_LINE, "count": 0, "counts": [], "items": [],
    }  # fmt: skip


def _counted(kind: NotificationKind, count: int, project: str | None) -> str:
    one, many = _WORDS[kind]
    where = f" in {project}" if project else ""
    return f"{count:,} {one if count == 1 else many}{where}"


def _titled(item: NotificationItem) -> str:
    return f"{item.title} ({item.project})" if item.project else item.title


def _subject(summary: str) -> str:
    """One line: what users name things never ends a header."""
    plain = " ".join("".join(one if one.isprintable() else " " for one in summary).split())
    shown = plain if len(plain) <= _MOST_SUBJECT else f"{plain[: _MOST_SUBJECT - 1]}…"
    return f"[Millpond] {shown}"


def _url(server: str, item: NotificationItem) -> str:
    return f"{server.rstrip('/')}{item.link}"


def _html(items: Sequence[NotificationItem], summary: str, rest: str, about: str, server: str) -> str:
    shown = "".join(
        f'<li><a href="{escape(_url(server, item))}">{escape(_titled(item))}</a>'
        + (f"<br>{escape(item.text)}" if item.text else "")
        + "</li>"
        for item in items
    )
    more = f"<p>{escape(rest)}</p>" if rest else ""
    return f"<p>{escape(summary)}</p><ul>{shown}</ul>{more}<p><small>{escape(about)}</small></p>"
