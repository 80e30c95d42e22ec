"""Flows and their versions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection, Row, select

from millpond.db.tables import flow, flow_version, project
from millpond.model.saved_flow import FlowVersion, SavedFlow

_FLOWS = select(flow, project.c.name.label("project")).join(project, project.c.id == flow.c.project_id)
_LIVING = flow.c.deleted_at.is_(None)


def insert(tx: Connection, value: SavedFlow) -> None:
    """IntegrityError if the project has one of this name."""
    tx.execute(flow.insert().values(**_values(value)))


def save(tx: Connection, value: SavedFlow) -> None:
    """Only for one read by `lock` in the same transaction."""
    tx.execute(flow.update().where(flow.c.id == value.id).values(**_values(value)))


def get(tx: Connection, flow_id: str) -> SavedFlow | None:
    row = tx.execute(_FLOWS.where(flow.c.id == flow_id)).first()
    return _flow(row) if row else None


def find(tx: Connection, project_id: str, name: str) -> SavedFlow | None:
    row = tx.execute(_FLOWS.where(flow.c.project_id == project_id, flow.c.name == name, _LIVING)).first()
    return _flow(row) if row else None


def lock(tx: Connection, flow_id: str) -> SavedFlow | None:
    row = tx.execute(_FLOWS.where(flow.c.id == flow_id).with_for_update(of=flow)).first()
    return _flow(row) if row else None


def names(tx: Connection, project_id: str) -> Sequence[str]:
    return tx.scalars(select(flow.c.name).where(flow.c.project_id == project_id, _LIVING).order_by(flow.c.name)).all()


def page(tx: Connection, project_id: str, *, limit: int, after: str = "") -> Sequence[SavedFlow]:
    """By name."""
    query = _FLOWS.where(flow.c.project_id == project_id, flow.c.name > after, _LIVING)
    return [_flow(row) for row in tx.execute(query.order_by(flow.c.name).limit(limit))]


def version(tx: Connection, flow_id: str, number: int) -> FlowVersion | None:
    row = tx.execute(_one_version(flow_id, number)).first()
    return FlowVersion(**row._mapping) if row else None


def versions(tx: Connection, flow_id: str, *, limit: int = 1000) -> Sequence[FlowVersion]:
    """Newest first."""
    query = select(flow_version).where(flow_version.c.flow_id == flow_id).order_by(flow_version.c.number.desc())
    return [FlowVersion(**row._mapping) for row in tx.execute(query.limit(limit))]


def put_version(tx: Connection, value: FlowVersion) -> None:
    """Insert it, or replace the one of that number."""
    found = tx.execute(_one_version(value.flow_id, value.number)).first()
    where = (flow_version.c.flow_id == value.flow_id, flow_version.c.number == value.number)
    statement = flow_version.update().where(*where) if found else flow_version.insert()
    tx.execute(statement.values(**asdict(value)))


def _one_version(flow_id: str, number: int) -> Any:
    return select(flow_version).where(flow_version.c.flow_id == flow_id, flow_version.c.number == number)


def _values(value: SavedFlow) -> dict[str, Any]:
    return {name: item for name, item in asdict(value).items() if name != "project"}


def _flow(row: Row[Any]) -> SavedFlow:
    return SavedFlow(**row._mapping)
