"""Notifications of users, what each wants to be told, and what is wrong at the moment and was told of."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, func, or_, select

from millpond.db.insert import insert_missing
from millpond.db.tables import notification, notification_alarm, notification_choice, project
from millpond.model.notification import Notification, NotificationItem, NotificationKind, Whose

Choices = Mapping[tuple[str, NotificationKind], Whose]


def insert(tx: Connection, value: Notification) -> None:
    tx.execute(
        notification.insert().values(
            id=value.id, user_id=value.user_id, kind=value.kind.value, project_id=value.project_id, count=value.count,
            items=[item.document() for item in value.items], began_at=value.began_at, at=value.at,
            read_at=value.read_at,
        )
    )  # fmt: skip


def save(tx: Connection, value: Notification) -> bool:
    """Write what came to it, unless it was read meanwhile."""
    unread = and_(notification.c.id == value.id, notification.c.read_at.is_(None))
    items = [item.document() for item in value.items]
    changed = notification.update().where(unread).values(count=value.count, items=items, at=value.at)
    return tx.execute(changed).rowcount > 0


def newest_unread(
    tx: Connection, user_id: str, kind: NotificationKind, project_id: str | None
) -> Notification | None:  # fmt: skip
    """What the next of the same kind may join."""
    same = notification.c.project_id == project_id if project_id else notification.c.project_id.is_(None)
    query = _select().where(
        notification.c.user_id == user_id, notification.c.kind == kind.value, same, notification.c.read_at.is_(None)
    )
    row = tx.execute(query.order_by(notification.c.at.desc()).limit(1)).first()
    return _notification(row) if row else None


def page(
    tx: Connection, user_id: str, *, among: Collection[str] | None, limit: int, unread: bool = False,
    project_id: str | None = None, before: tuple[datetime, str] | None = None,
) -> Sequence[Notification]:  # fmt: skip
    """Newest first, behind the (time, id) `before`; of the projects `among`, None meaning all."""
    query = _select().where(_visible(user_id, among))
    if unread:
        query = query.where(notification.c.read_at.is_(None))
    if project_id is not None:
        query = query.where(notification.c.project_id == project_id)
    if before is not None:
        at, key = before
        query = query.where(or_(notification.c.at < at, and_(notification.c.at == at, notification.c.id < key)))
    query = query.order_by(notification.c.at.desc(), notification.c.id.desc()).limit(limit)
    return [_notification(row) for row in tx.execute(query)]


def unread(tx: Connection, user_id: str, *, among: Collection[str] | None) -> int:
    query = select(func.count()).select_from(notification)
    return tx.scalar(query.where(_visible(user_id, among), notification.c.read_at.is_(None))) or 0


def mark_read(tx: Connection, user_id: str, now: datetime, *, ids: Collection[str] | None) -> int:
    """Those of the user with these ids, or all; how many were unread."""
    own = and_(notification.c.user_id == user_id, notification.c.read_at.is_(None))
    chosen = own if ids is None else and_(own, notification.c.id.in_(ids))
    return tx.execute(notification.update().where(chosen).values(read_at=now)).rowcount


def forget(tx: Connection, *, read_before: datetime, before: datetime) -> int:
    """Remove what was read before a moment, and all that is older than another."""
    old = or_(notification.c.read_at < read_before, notification.c.at < before)
    return tx.execute(notification.delete().where(old)).rowcount


def choices_of(tx: Connection, user_ids: Collection[str]) -> Mapping[str, Choices]:
    """By user: what they chose, by place (the id of a project, or nothing) and kind."""
    found: dict[str, dict[tuple[str, NotificationKind], Whose]] = {one: {} for one in user_ids}
    query = select(notification_choice).where(notification_choice.c.user_id.in_(user_ids))
    for row in tx.execute(query):
        found[row.user_id][row.place, NotificationKind(row.kind)] = Whose(row.whose)
    return found


def choose(tx: Connection, user_id: str, place: str, kind: NotificationKind, whose: Whose | None) -> None:
    """None: as it is without a choice."""
    key = {"user_id": user_id, "place": place, "kind": kind.value}
    mine = and_(*(notification_choice.c[name] == value for name, value in key.items()))
    tx.execute(notification_choice.delete().where(mine))
    if whose is not None:
        tx.execute(notification_choice.insert().values(**key, whose=whose.value))


def raise_alarm(tx: Connection, key: str, now: datetime) -> bool:
    """True if it was not raised before."""
    if tx.scalar(select(notification_alarm.c.key).where(notification_alarm.c.key == key)) is not None:
        return False
    insert_missing(tx, notification_alarm, [{"key": key, "since": now}])
    return True


def end_alarm(tx: Connection, key: str) -> None:
    tx.execute(notification_alarm.delete().where(notification_alarm.c.key == key))


def alarms(tx: Connection) -> Mapping[str, datetime]:
    """What is raised, since when."""
    return {row.key: row.since for row in tx.execute(select(notification_alarm))}


def _visible(user_id: str, among: Collection[str] | None) -> ColumnElement[bool]:
    own = notification.c.user_id == user_id
    if among is None:
        return own
    return and_(own, or_(notification.c.project_id.is_(None), notification.c.project_id.in_(among)))


def _select() -> Any:
    return select(notification, project.c.name.label("project")).outerjoin(
        project, project.c.id == notification.c.project_id
    )


def _notification(row: Row[Any]) -> Notification:
    return Notification(
        id=row.id, user_id=row.user_id, kind=NotificationKind(row.kind), project_id=row.project_id,
        project=row.project, count=row._mapping["count"], items=[NotificationItem.of(one) for one in row.items],
        began_at=row.began_at, at=row.at, read_at=row.read_at,
    )  # fmt: skip
