"""Saved views of lists of runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, select

from millpond.db.tables import saved_view
from millpond.model.documents import from_document, to_document
from millpond.model.saved_view import SavedView, ViewQuery


def visible(tx: Connection, project_id: str, user_id: str) -> Sequence[SavedView]:
    """Shared ones and the user's own, by name."""
    query = select(saved_view).where(saved_view.c.project_id == project_id, saved_view.c.owner_id.in_(["", user_id]))
    return [_view(row) for row in tx.execute(query.order_by(saved_view.c.name, saved_view.c.owner_id))]


def save(tx: Connection, view: SavedView) -> None:
    """In place of the one of this name that the same people see."""
    same = (
        saved_view.c.project_id == view.project_id,
        saved_view.c.owner_id == (view.owner_id or ""),
        saved_view.c.name == view.name,
    )
    tx.execute(saved_view.delete().where(*same))
    tx.execute(
        saved_view.insert().values(
            id=view.id,
            project_id=view.project_id,
            owner_id=view.owner_id or "",
            name=view.name,
            created_by=view.created_by,
            changed_at=view.changed_at,
            query=to_document(view.query),
        )
    )


def delete(tx: Connection, view_id: str) -> None:
    tx.execute(saved_view.delete().where(saved_view.c.id == view_id))


def _view(row: Row[Any]) -> SavedView:
    values = dict(row._mapping)
    return SavedView(**values | {"owner_id": row.owner_id or None, "query": from_document(ViewQuery, row.query)})
