"""What is told together, when it is sent and sent again."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from millpond.decide.notifications import grouping, retries
from millpond.model.notification import LISTED_ITEMS, Delivery, Notification, NotificationItem, NotificationKind
from millpond.testing.clock import NOON

FAILED, BACKUP = NotificationKind.JOB_FAILED, NotificationKind.BACKUP_FAILED
SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)


def item(number: int = 0, *, kind: NotificationKind = FAILED, project_id: str | None = "vision-id") -> NotificationItem:
    return NotificationItem(
        kind=kind, at=NOON + number * SECOND, title=f"Job train-{number} failed", text="exit code 1", link="/",
        project_id=project_id, project="vision" if project_id else None, subject_id=f"job{number}",
    )  # fmt: skip


def test_what_is_alike_joins_the_unread_notification_for_an_hour() -> None:
    group = Notification(
        id="n1", user_id="ada-id", kind=FAILED, project_id="vision-id", project="vision", count=1, items=[item()],
        began_at=NOON, at=NOON,
    )  # fmt: skip
    assert grouping.may_join(group, NOON + 59 * MINUTE)
    assert not grouping.may_join(group, NOON + 60 * MINUTE)
    assert not grouping.may_join(None, NOON)
    for number in range(1, 500):
        group = grouping.joined(group, item(number))
    assert (group.count, len(group.items), group.at) == (500, LISTED_ITEMS, NOON + 499 * SECOND)


def new(before: datetime | None = None) -> Delivery:
    return grouping.new_delivery("d1", "c1", before=before, now=NOON)


def test_a_channel_gets_the_first_at_once_and_then_one_in_five_minutes() -> None:
    assert new().due_at == NOON + grouping.GATHER
    assert new(NOON - MINUTE).due_at == NOON + 4 * MINUTE
    assert new(NOON - 60 * MINUTE).due_at == NOON + grouping.GATHER


def test_a_digest_lists_the_first_and_counts_all() -> None:
    delivery = new()
    for number in range(500):
        delivery = grouping.gathered(delivery, item(number))
    delivery = grouping.gathered(delivery, item(kind=BACKUP, project_id=None))
    assert (delivery.count, len(delivery.items)) == (501, LISTED_ITEMS)
    assert delivery.counts == {(FAILED, "vision-id"): 500, (BACKUP, None): 1}


@pytest.mark.parametrize(
    ("projects", "is_admin", "count"), [({"vision-id"}, True, 2), ({"vision-id"}, False, 1), (set(), False, 0)]
)
def test_what_must_not_be_told_any_more_is_left_out(projects: set[str], is_admin: bool, count: int) -> None:
    delivery = grouping.gathered(grouping.gathered(new(), item()), item(kind=BACKUP, project_id=None))
    told = grouping.still_allowed(delivery, projects, is_admin=is_admin)
    assert (told.count, len(told.items)) == (count, count)


def test_a_delivery_is_tried_for_a_day_ever_more_slowly() -> None:
    now, pauses = NOON, []
    while (again := retries.next_try(len(pauses) + 1, created_at=NOON, now=now, is_final=False)) is not None:
        pauses.append((again - now).total_seconds())
        now = again
    assert pauses[:9] == [30, 60, 120, 240, 480, 960, 1920, 3600, 3600]
    assert timedelta(hours=22) < now - NOON <= retries.GIVEN_UP_AFTER
    assert len(pauses) < 40


def test_what_would_be_refused_again_is_given_up_at_once() -> None:
    assert retries.next_try(1, created_at=NOON, now=NOON, is_final=True) is None
