"""What is told together: one notification for what is alike, one delivery for what comes to a channel in a while."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime, timedelta

from millpond.model.notification import (
    LISTED_ITEMS,
    Delivery,
    DeliveryState,
    Notification,
    NotificationItem,
    NotificationKind,
)

# On the page, what is alike joins the unread notification that began so lately.
GROUPED_FOR = timedelta(hours=1)
# A channel gets at most one message in each window. The first one waits a moment for what happens together with it.
WINDOW = timedelta(minutes=5)
GATHER = timedelta(seconds=3)


def may_join(group: Notification | None, now: datetime) -> bool:
    return group is not None and group.read_at is None and now - group.began_at < GROUPED_FOR


def joined(group: Notification, item: NotificationItem) -> Notification:
    return replace(
        group, count=group.count + 1, items=[*group.items, item][:LISTED_ITEMS], at=max(group.at, item.at)
    )  # fmt: skip


def new_delivery(
    delivery_id: str, channel_id: str, *, before: datetime | None, now: datetime
) -> Delivery:  # fmt: skip
    """`before`: when the newest one of the channel was begun."""
    due_at = max(now + GATHER, before + WINDOW if before else now)
    return Delivery(
        id=delivery_id, channel_id=channel_id, state=DeliveryState.WAITING, items=[], counts={}, created_at=now,
        due_at=due_at,
    )  # fmt: skip


def gathered(delivery: Delivery, item: NotificationItem) -> Delivery:
    key = (item.kind, item.project_id)
    counts = {**delivery.counts, key: delivery.counts.get(key, 0) + 1}
    return replace(delivery, items=[*delivery.items, item][:LISTED_ITEMS], counts=counts)


def still_allowed(delivery: Delivery, projects: Collection[str], *, is_admin: bool) -> Delivery:
    """Without what must not be told any more: of projects other than these, of the server to others."""

    def may_tell(kind: NotificationKind, project_id: str | None) -> bool:
        if project_id is None:
            return is_admin or not kind.is_of_server
        return project_id in projects

    return replace(
        delivery,
        items=[one for one in delivery.items if may_tell(one.kind, one.project_id)],
        counts={key: count for key, count in delivery.counts.items() if may_tell(*key)},
    )
