"""Logged models of runs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection, Row, Select, select

from millpond.db.tables import logged_model
from millpond.model.logged_model import LoggedModel


def insert(tx: Connection, value: LoggedModel) -> None:
    tx.execute(logged_model.insert().values(**_values(value)))


def save(tx: Connection, value: LoggedModel) -> None:
    """Only for one read by `lock` in the same transaction."""
    tx.execute(logged_model.update().where(logged_model.c.id == value.id).values(**_values(value)))


def get(tx: Connection, project_id: str, model_id: str) -> LoggedModel | None:
    return _first(tx, _one(project_id, model_id))


def lock(tx: Connection, project_id: str, model_id: str) -> LoggedModel | None:
    return _first(tx, _one(project_id, model_id).with_for_update())


def of_experiments(tx: Connection, project_id: str, names: Collection[str]) -> Sequence[LoggedModel]:
    """Newest first, without those that were deleted."""
    query = select(logged_model).where(
        logged_model.c.project_id == project_id,
        logged_model.c.experiment.in_(list(names)),
        logged_model.c.deleted_at.is_(None),
    )
    rows = tx.execute(query.order_by(logged_model.c.created_at.desc(), logged_model.c.id))
    return [_model(row) for row in rows]


def _one(project_id: str, model_id: str) -> Select[Any]:
    return select(logged_model).where(logged_model.c.project_id == project_id, logged_model.c.id == model_id)


def _first(tx: Connection, query: Select[Any]) -> LoggedModel | None:
    row = tx.execute(query).first()
    return _model(row) if row else None


def _values(value: LoggedModel) -> dict[str, Any]:
    return asdict(value) | {"metrics": [dict(one) for one in value.metrics]}


def _model(row: Row[Any]) -> LoggedModel:
    return LoggedModel(**dict(row._mapping) | {"metrics": tuple(row.metrics)})
