"""Notifications, choices, channels and the mail server, as `/api/v1` shows them."""

from __future__ import annotations

from collections.abc import Sequence

from millpond.decide.notifications.messages import summary_of, title_of, words_of
from millpond.model.notification import Delivery, Notification, NotificationItem, SmtpSettings
from millpond.services.notifications.channels import ChannelView
from millpond.services.notifications.inbox import Choice
from millpond.services.notifications.outcome import Outcome
from millpond.wire import notifications as wire


def notification(value: Notification) -> wire.Notification:
    return wire.Notification(
        id=value.id, kind=value.kind, project=value.project, title=title_of(value), count=value.count,
        items=[_item(one) for one in value.items], at=value.at, read_at=value.read_at,
    )  # fmt: skip


def choices(found: Sequence[Choice]) -> wire.Choices:
    items = [
        wire.Choice(
            kind=one.kind, label=words_of(one.kind), project=one.project, whose=one.whose, is_chosen=one.is_chosen
        )
        for one in found
    ]
    return wire.Choices(items=items)


def delivery(value: Delivery) -> wire.Delivery:
    return wire.Delivery(
        id=value.id, state=value.state, count=value.count, title=summary_of(value), created_at=value.created_at,
        due_at=value.due_at, attempts=value.attempts, tried_at=value.tried_at, ended_at=value.ended_at,
        status=value.status, problem=value.problem,
    )  # fmt: skip


def channel(value: ChannelView, project: str | None) -> wire.Channel:
    known = value.channel
    return wire.Channel(
        id=known.id, name=known.name, project=project, type=known.type, to=known.shown, kinds=sorted(known.kinds),
        created_at=known.created_at, created_by=known.created_by, last=delivery(value.newest) if value.newest else None,
    )  # fmt: skip


def created(value: ChannelView, project: str | None) -> wire.ChannelCreated:
    return wire.ChannelCreated(**dict(channel(value, project)), secret=value.secret)


def tested(outcome: Outcome) -> wire.TestResult:
    return wire.TestResult(works=outcome.works, status=outcome.status, problem=outcome.problem, hint=outcome.hint)


def smtp(value: SmtpSettings) -> wire.Smtp:
    return wire.Smtp(
        host=value.host, port=value.port, tls=value.tls, sender=value.sender, user=value.user,
        has_password=value.password is not None, domains=list(value.domains), set_by=value.set_by, set_at=value.set_at,
    )  # fmt: skip


def _item(value: NotificationItem) -> wire.NotificationItem:
    return wire.NotificationItem(
        kind=value.kind, project=value.project, subject=value.subject_id, title=value.title, text=value.text,
        link=value.link, at=value.at,
    )  # fmt: skip
