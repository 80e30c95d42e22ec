"""Deliveries to channels: gathered, claimed by one server at a time, tried, and kept for a while to look at."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, func, or_, select

from millpond.db.tables import notification_delivery
from millpond.model.notification import Delivery, DeliveryState, NotificationItem, NotificationKind

_OF = notification_delivery.c
_WAITING = _OF.state == DeliveryState.WAITING.value


def insert(tx: Connection, value: Delivery) -> None:
    tx.execute(notification_delivery.insert().values(id=value.id, channel_id=value.channel_id, **_content(value)))


def gathering(tx: Connection, channel_id: str) -> Delivery | None:
    """The one that nobody has begun to send: what happens now may join it. It stays so until the transaction ends."""
    unbegun = and_(_OF.channel_id == channel_id, _WAITING, _OF.attempts == 0, _OF.runner.is_(None))
    row = tx.execute(select(notification_delivery).where(unbegun).limit(1).with_for_update()).first()
    return _delivery(row) if row else None


def save(tx: Connection, value: Delivery) -> None:
    tx.execute(notification_delivery.update().where(_OF.id == value.id).values(**_content(value)))


def newest_created(tx: Connection, channel_id: str) -> datetime | None:
    found: datetime | None = tx.scalar(select(func.max(_OF.created_at)).where(_OF.channel_id == channel_id))
    return found


def due(tx: Connection, now: datetime) -> str | None:
    """The next one whose time has come, and that nobody sends. Of one channel the older comes first."""
    older = notification_delivery.alias()
    is_behind = (
        select(older.c.id)
        .where(
            older.c.channel_id == _OF.channel_id, older.c.state == DeliveryState.WAITING.value,
            older.c.created_at < _OF.created_at,
        )
        .exists()
    )  # fmt: skip
    query = select(_OF.id).where(_WAITING, _OF.due_at <= now, _is_free(now), ~is_behind)
    return tx.scalar(query.order_by(_OF.due_at).limit(1))


def claim(tx: Connection, delivery_id: str, runner: str, *, now: datetime, until: datetime) -> Delivery | None:
    """From here on it is this server's until then; None if it is another's, or over."""
    mine = and_(_OF.id == delivery_id, _WAITING, _is_free(now))
    taken = notification_delivery.update().where(mine).values(runner=runner, runner_until=until)
    row = tx.execute(taken.returning(notification_delivery)).first()
    return _delivery(row) if row else None


def finish(tx: Connection, delivery_id: str, runner: str, **values: Any) -> bool:
    """Note how a try went; False if it is no longer this server's."""
    mine = and_(_OF.id == delivery_id, _WAITING, _OF.runner == runner)
    changed = notification_delivery.update().where(mine).values(runner=None, runner_until=None, **values)
    return tx.execute(changed).rowcount > 0


def page(tx: Connection, channel_id: str, *, limit: int) -> Sequence[Delivery]:
    """Newest first."""
    query = select(notification_delivery).where(_OF.channel_id == channel_id)
    return [_delivery(row) for row in tx.execute(query.order_by(_OF.created_at.desc(), _OF.id.desc()).limit(limit))]


def newest(tx: Connection, channel_ids: Collection[str]) -> Mapping[str, Delivery]:
    """By channel: the one that was tried last."""
    last = (
        select(_OF.channel_id, func.max(_OF.tried_at).label("tried_at"))
        .where(_OF.channel_id.in_(channel_ids))
        .group_by(_OF.channel_id)
        .subquery()
    )
    same = and_(last.c.channel_id == _OF.channel_id, last.c.tried_at == _OF.tried_at)
    return {row.channel_id: _delivery(row) for row in tx.execute(select(notification_delivery).join(last, same))}


def drop_all(tx: Connection, now: datetime, problem: str) -> None:
    """Send nothing of what waits."""
    ended = {"state": DeliveryState.DROPPED.value, "ended_at": now, "problem": problem}
    tx.execute(notification_delivery.update().where(_WAITING).values(**ended, runner=None, runner_until=None))


def forget(tx: Connection, before: datetime) -> int:
    return tx.execute(notification_delivery.delete().where(_OF.ended_at < before)).rowcount


def _is_free(now: datetime) -> ColumnElement[bool]:
    return or_(_OF.runner.is_(None), _OF.runner_until < now)


def _content(value: Delivery) -> dict[str, Any]:
    return {
        "state": value.state.value,
        "items": [item.document() for item in value.items],
        "counts": [[kind.value, project_id, count] for (kind, project_id), count in value.counts.items()],
        "created_at": value.created_at,
        "due_at": value.due_at,
        "attempts": value.attempts,
        "tried_at": value.tried_at,
        "ended_at": value.ended_at,
        "status": value.status,
        "problem": value.problem,
    }


def _delivery(row: Row[Any]) -> Delivery:
    return Delivery(
        id=row.id, channel_id=row.channel_id, state=DeliveryState(row.state),
        items=[NotificationItem.of(one) for one in row.items],
        counts={(NotificationKind(kind), project_id): count for kind, project_id, count in row.counts},
        created_at=row.created_at, due_at=row.due_at, attempts=row.attempts, tried_at=row.tried_at,
        ended_at=row.ended_at, status=row.status, problem=row.problem, runner=row.runner,
    )  # fmt: skip
