"""Hyperparameter searches: found by id and name, changed only while their row is locked."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, Select, select, tuple_

from millpond.db.tables import project, search
from millpond.model.documents import from_document, to_document
from millpond.model.search import Search, SearchSpec, SearchState

_SEARCHES = select(search, project.c.name.label("project")).join(project, project.c.id == search.c.project_id)


def insert(tx: Connection, value: Search) -> None:
    tx.execute(search.insert().values(**_values(value)))


def get(tx: Connection, search_id: str) -> Search | None:
    row = tx.execute(_SEARCHES.where(search.c.id == search_id)).first()
    return _search(row) if row else None


def lock(tx: Connection, search_id: str) -> Search | None:
    """Read it to change it or its trials: nobody else does until this transaction ends."""
    row = tx.execute(_SEARCHES.where(search.c.id == search_id).with_for_update(of=search)).first()
    return _search(row) if row else None


def save(tx: Connection, value: Search) -> None:
    """Only for one read by `lock` in the same transaction. Its revision is the next one."""
    changed = {
        "user_id": value.user_id,
        "state": value.state.value,
        "reasons": list(value.reasons),
        "best": list(value.best),
        "ended_at": value.ended_at,
        "is_open": value.is_open,
        "revision": value.revision + 1,
    }
    tx.execute(search.update().where(search.c.id == value.id).values(**changed))


def delete(tx: Connection, search_id: str) -> None:
    """With its trials."""
    tx.execute(search.delete().where(search.c.id == search_id))


def open_ids(tx: Connection) -> Sequence[str]:
    """Those that the loop looks at, oldest first."""
    query = select(search.c.id).where(search.c.is_open.is_(True))
    return tx.scalars(query.order_by(search.c.created_at, search.c.id)).all()


def named(tx: Connection, project_id: str, name: str, *, limit: int) -> Sequence[Search]:
    """Newest first."""
    query = _SEARCHES.where(search.c.project_id == project_id, search.c.name == name)
    return _all(tx, query.order_by(search.c.created_at.desc(), search.c.id.desc()).limit(limit))


def with_prefix(tx: Connection, project_id: str, prefix: str, *, limit: int) -> Sequence[Search]:
    query = _SEARCHES.where(
        search.c.project_id == project_id, search.c.id >= prefix, search.c.id < prefix + "\x7f"
    )  # fmt: skip
    return _all(tx, query.order_by(search.c.id).limit(limit))


def names(tx: Connection, project_id: str, *, limit: int = 1000) -> Sequence[str]:
    query = select(search.c.name).where(search.c.project_id == project_id)
    return tx.scalars(query.order_by(search.c.created_at.desc()).limit(limit)).all()


def page(
    tx: Connection, *, projects: Collection[str] | None, states: Collection[SearchState] | None, limit: int,
    before: tuple[datetime, str] | None,
) -> Sequence[Search]:  # fmt: skip
    """Newest first, behind the one created at that moment with that id; of all projects if `projects` is None."""
    query = _SEARCHES
    if projects is not None:
        query = query.where(search.c.project_id.in_(projects))
    if states is not None:
        query = query.where(search.c.state.in_([state.value for state in states]))
    if before is not None:
        query = query.where(tuple_(search.c.created_at, search.c.id) < tuple_(*before))
    return _all(tx, query.order_by(search.c.created_at.desc(), search.c.id.desc()).limit(limit))


def _all(tx: Connection, query: Select[Any]) -> Sequence[Search]:
    return [_search(row) for row in tx.execute(query)]


def _search(row: Row[Any]) -> Search:
    return Search(
        **{
            **row._mapping,
            "spec": from_document(SearchSpec, row.spec),
            "state": SearchState(row.state),
            "reasons": tuple(row.reasons),
            "best": tuple(row.best),
        }
    )


def _values(value: Search) -> dict[str, Any]:
    return {
        "id": value.id,
        "project_id": value.project_id,
        "name": value.name,
        "created_by": value.created_by,
        "user_id": value.user_id,
        "created_at": value.created_at,
        "spec": to_document(value.spec),
        "state": value.state.value,
        "reasons": list(value.reasons),
        "best": list(value.best),
        "ended_at": value.ended_at,
        "is_open": value.is_open,
        "revision": value.revision,
    }
