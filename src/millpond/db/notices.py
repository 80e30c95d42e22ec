"""What happened and nobody was told of yet. Rows come with what they tell of, and go with what is made of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import Connection, Row, select

from millpond.db.tables import notice
from millpond.model.notification import MOST_LINK, MOST_TEXT, MOST_TITLE, Notice, NotificationKind


def insert(tx: Connection, *values: Notice) -> None:
    """In the transaction of what they tell of."""
    if values:
        tx.execute(notice.insert(), [_written(value) for value in values])


def is_empty(tx: Connection) -> bool:
    return tx.scalar(select(notice.c.id).limit(1)) is None


def oldest(tx: Connection, *, limit: int) -> Sequence[Notice]:
    """Nobody else handles these until the transaction ends: whoever tries waits, and finds them gone."""
    query = select(notice).order_by(notice.c.id).limit(limit).with_for_update()
    return [_notice(row) for row in tx.execute(query)]


def delete(tx: Connection, ids: Collection[int]) -> None:
    tx.execute(notice.delete().where(notice.c.id.in_(ids)))


def _written(value: Notice) -> dict[str, Any]:
    return {
        "kind": value.kind.value,
        "at": value.at,
        "project_id": value.project_id,
        "subject_id": value.subject_id[:64],
        "owner": value.owner,
        "owner_id": value.owner_id,
        "title": value.title[:MOST_TITLE],
        "text": value.text[:MOST_TEXT],
        "link": value.link[:MOST_LINK],
    }


def _notice(row: Row[Any]) -> Notice:
    return Notice(
        kind=NotificationKind(row.kind), at=row.at, title=row.title, text=row.text, link=row.link,
        project_id=row.project_id, subject_id=row.subject_id, owner=row.owner, owner_id=row.owner_id, id=row.id,
    )  # fmt: skip
