"""Notifications, choices, channels and the mail server, over the API. `project` None: one's own channels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from millpond.client.http import Api, segment
from millpond.model.notification import NotificationKind, Whose
from millpond.wire.notifications import (
    Channel,
    ChannelChange,
    ChannelCreate,
    ChannelCreated,
    Choices,
    ChoicesChange,
    Delivery,
    MarkedRead,
    MarkRead,
    Notification,
    Smtp,
    SmtpSet,
    SmtpTest,
    TestResult,
)

# The server talks to somebody else before it answers.
_SECONDS = 150.0


def list_notifications(
    api: Api, *, unread: bool = False, project: str | None = None, limit: int | None = None
) -> Iterator[Notification]:
    """Newest first."""
    return api.items("/notifications", Notification, at_most=limit, unread=unread, project=project)


def mark_read(api: Api, ids: Sequence[str] | None) -> int:
    """Those with these ids, or all; how many were unread."""
    body = MarkRead(ids=None if ids is None else list(ids))
    return api.send("POST", "/notifications/read", MarkedRead, body, idempotent=True).marked


def list_choices(api: Api, project: str | None = None) -> Choices:
    return api.get("/notifications/choices", Choices, project=project)


def choose(api: Api, choices: Mapping[NotificationKind, Whose | None], project: str | None = None) -> Choices:
    body = ChoicesChange(project=project, choices=dict(choices))
    return api.send("PATCH", "/notifications/choices", Choices, body, idempotent=True)


def list_channels(api: Api, project: str | None = None) -> Iterator[Channel]:
    return api.items(_path(project), Channel)


def add_channel(api: Api, asked: ChannelCreate, project: str | None = None) -> ChannelCreated:
    return api.send("POST", _path(project), ChannelCreated, asked)


def change_channel(
    api: Api, name: str, kinds: Sequence[NotificationKind], project: str | None = None
) -> Channel:  # fmt: skip
    return api.send("PATCH", _path(project, name), Channel, ChannelChange(kinds=list(kinds)), idempotent=True)


def remove_channel(api: Api, name: str, project: str | None = None) -> None:
    api.request("DELETE", _path(project, name))


def test_channel(api: Api, name: str, project: str | None = None) -> TestResult:
    return api.send("POST", f"{_path(project, name)}/test", TestResult, timeout=_SECONDS)


def list_deliveries(api: Api, name: str, project: str | None = None) -> Iterator[Delivery]:
    return api.items(f"{_path(project, name)}/deliveries", Delivery)


def get_smtp(api: Api) -> Smtp:
    return api.get("/notifications/smtp", Smtp)


def set_smtp(api: Api, wanted: SmtpSet) -> Smtp:
    return api.send("PUT", "/notifications/smtp", Smtp, wanted)


def remove_smtp(api: Api) -> None:
    api.request("DELETE", "/notifications/smtp")


def test_smtp(api: Api, to: str) -> TestResult:
    return api.send("POST", "/notifications/smtp/test", TestResult, SmtpTest(to=to), timeout=_SECONDS)


def _path(project: str | None, name: str | None = None) -> str:
    base = "/notifications/channels" if project is None else f"/projects/{segment(project)}/channels"
    return base if name is None else f"{base}/{segment(name)}"
