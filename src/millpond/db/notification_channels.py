"""Channels of users and projects. URLs and secrets go in and out sealed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, func, or_, select

from millpond.db.tables import notification_channel
from millpond.model.notification import Channel, ChannelType, NotificationKind

_OF = notification_channel.c


@dataclass(frozen=True, slots=True)
class ChannelOwner:
    """A user or a project; one of both is None."""

    user_id: str | None = None
    project_id: str | None = None


def insert(tx: Connection, value: Channel) -> None:
    """IntegrityError when the name is taken."""
    tx.execute(
        notification_channel.insert().values(
            id=value.id, user_id=value.user_id, project_id=value.project_id, name=value.name, type=value.type.value,
            shown=value.shown, sealed=value.sealed, kinds=sorted(value.kinds), created_at=value.created_at,
            created_by=value.created_by, tested_at=value.tested_at,
        )
    )  # fmt: skip


def get(tx: Connection, channel_id: str) -> Channel | None:
    row = tx.execute(select(notification_channel).where(_OF.id == channel_id)).first()
    return _channel(row) if row else None


def find(tx: Connection, owner: ChannelOwner, name: str) -> Channel | None:
    row = tx.execute(select(notification_channel).where(_owned(owner), _OF.name == name)).first()
    return _channel(row) if row else None


def all_of(tx: Connection, owner: ChannelOwner) -> Sequence[Channel]:
    """By name."""
    query = select(notification_channel).where(_owned(owner)).order_by(_OF.name)
    return [_channel(row) for row in tx.execute(query)]


def of_many(tx: Connection, *, user_ids: Collection[str], project_ids: Collection[str]) -> Sequence[Channel]:
    """Of any of these users and projects."""
    query = select(notification_channel).where(or_(_OF.user_id.in_(user_ids), _OF.project_id.in_(project_ids)))
    return [_channel(row) for row in tx.execute(query.order_by(_OF.id))]


def count(tx: Connection, owner: ChannelOwner) -> int:
    return tx.scalar(select(func.count()).select_from(notification_channel).where(_owned(owner))) or 0


def set_kinds(tx: Connection, channel_id: str, kinds: Collection[NotificationKind]) -> None:
    tx.execute(notification_channel.update().where(_OF.id == channel_id).values(kinds=sorted(kinds)))


def note_test(tx: Connection, channel_id: str, now: datetime, *, unless_after: datetime) -> bool:
    """False if it was tested since `unless_after`."""
    free = or_(_OF.tested_at.is_(None), _OF.tested_at <= unless_after)
    changed = notification_channel.update().where(_OF.id == channel_id, free).values(tested_at=now)
    return tx.execute(changed).rowcount > 0


def delete(tx: Connection, channel_id: str) -> None:
    tx.execute(notification_channel.delete().where(_OF.id == channel_id))


def _owned(owner: ChannelOwner) -> ColumnElement[bool]:
    return _OF.user_id == owner.user_id if owner.user_id is not None else _OF.project_id == owner.project_id


def _channel(row: Row[Any]) -> Channel:
    known = {kind.value for kind in NotificationKind}
    return Channel(
        id=row.id, user_id=row.user_id, project_id=row.project_id, name=row.name, type=ChannelType(row.type),
        shown=row.shown, sealed=row.sealed, kinds=frozenset(NotificationKind(one) for one in row.kinds if one in known),
        created_at=row.created_at, created_by=row.created_by, tested_at=row.tested_at,
    )  # fmt: skip
