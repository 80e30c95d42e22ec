"""Turns notices into notifications and deliveries: all that comes of a notice is written as the notice goes.

One server does this at a time. Should two meet, the second waits for the first one's rows and finds them gone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from logging import getLogger

from sqlalchemy import Connection

from millpond.db import notices, notification_channels, notification_deliveries, notifications, projects
from millpond.db import notification_people as people_rows
from millpond.decide.notifications import grouping
from millpond.decide.notifications.recipients import Person, channels_of, recipients
from millpond.model.ids import new_id
from millpond.model.notification import Notice, Notification, NotificationItem
from millpond.services.deps import Deps
from millpond.services.notifications.topics import DELIVERIES, tell_pages

logger = getLogger(__name__)

SECONDS = 2.0
_AT_ONCE = 200


def tell_all(deps: Deps, now: datetime) -> int:
    """Tell everybody of everything that happened; how much it was."""
    count = 0
    while found := _tell_some(deps, now):
        count += found
    return count


def _tell_some(deps: Deps, now: datetime) -> int:
    with deps.db.read() as tx:
        if notices.is_empty(tx):
            return 0
    with deps.db.write() as tx:
        found = notices.oldest(tx, limit=_AT_ONCE)
        told = _Round(tx, found, now)
        for notice in found:
            told.tell(notice)
        told.save()
        notices.delete(tx, [notice.id for notice in found])
    for user_id in sorted(told.users):
        tell_pages(deps, user_id)
    if told.has_deliveries:
        deps.events.wake(DELIVERIES)
    return len(found)


class _Round:
    """Some notices, with those who may be told of them. Nothing is written before `save`."""

    def __init__(self, tx: Connection, found: Sequence[Notice], now: datetime) -> None:
        self._tx, self._now = tx, now
        project_ids = {notice.project_id for notice in found if notice.project_id is not None}
        self._projects = projects.names_of(tx, project_ids)
        self._people = self._load_people(found, project_ids)
        user_ids = [person.id for person in self._people]
        self._channels = notification_channels.of_many(tx, user_ids=user_ids, project_ids=project_ids)
        self._groups: dict[tuple[str, str, str | None], tuple[Notification, bool]] = {}
        self._gathered: dict[str, list[NotificationItem]] = {}
        self.users: set[str] = set()

    @property
    def has_deliveries(self) -> bool:
        return bool(self._gathered)

    def tell(self, notice: Notice) -> None:
        item = NotificationItem(
            kind=notice.kind, at=notice.at, title=notice.title, text=notice.text, link=notice.link,
            project_id=notice.project_id, project=self._projects.get(notice.project_id or ""),
            subject_id=notice.subject_id,
        )  # fmt: skip
        told = recipients(notice, self._people)
        for one in told:
            logger.debug("notification kind=%s user=%s reason=%s", notice.kind, one.person.name, one.reason)
            self._put(one.person, item)
        for channel in channels_of(notice, {one.person.id for one in told}, self._channels):
            self._gathered.setdefault(channel.id, []).append(item)

    def save(self) -> None:
        for group, is_new in self._groups.values():
            # One that was read meanwhile stays as it was read.
            if is_new or not notifications.save(self._tx, group):
                notifications.insert(self._tx, group if is_new else replace(group, id=new_id(16)))
        for channel_id, items in sorted(self._gathered.items()):
            self._deliver(channel_id, items)

    def _put(self, person: Person, item: NotificationItem) -> None:
        key = (person.id, item.kind.value, item.project_id)
        self.users.add(person.id)
        if key not in self._groups:
            known = notifications.newest_unread(self._tx, person.id, item.kind, item.project_id)
            if known is not None and grouping.may_join(known, self._now):
                self._groups[key] = known, False
        if key in self._groups:
            group, is_new = self._groups[key]
            self._groups[key] = grouping.joined(group, item), is_new
            return
        group = Notification(
            id=new_id(16), user_id=person.id, kind=item.kind, project_id=item.project_id, project=item.project,
            count=1, items=[item], began_at=self._now, at=item.at,
        )  # fmt: skip
        self._groups[key] = group, True

    def _deliver(self, channel_id: str, items: Sequence[NotificationItem]) -> None:
        known = notification_deliveries.gathering(self._tx, channel_id)
        delivery = known
        if delivery is None:
            before = notification_deliveries.newest_created(self._tx, channel_id)
            delivery = grouping.new_delivery(new_id(16), channel_id, before=before, now=self._now)
        for item in items:
            delivery = grouping.gathered(delivery, item)
        if known is None:
            notification_deliveries.insert(self._tx, delivery)
        else:
            notification_deliveries.save(self._tx, delivery)

    def _load_people(self, found: Sequence[Notice], project_ids: set[str]) -> Sequence[Person]:
        """Whoever may be concerned: owners, members of the projects, site administrators."""
        owners = {notice.owner for notice in found if notice.owner is not None}
        owner_ids = {notice.owner_id for notice in found if notice.owner_id is not None}
        return people_rows.people(self._tx, names=owners, ids=owner_ids, project_ids=project_ids)
