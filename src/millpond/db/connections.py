"""Connections of projects. Credentials go in and out sealed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, Select, select

from millpond.db.tables import connection
from millpond.model.connection import Place, ProjectConnection


def insert(tx: Connection, value: ProjectConnection) -> None:
    """IntegrityError when the name is taken."""
    tx.execute(
        connection.insert().values(
            id=value.id,
            project_id=value.project_id,
            name=value.name,
            root=value.place.root,
            endpoint=value.place.endpoint,
            region=value.place.region,
            credentials=value.sealed,
            created_at=value.created_at,
            created_by=value.created_by,
            writable=value.writable,
        )
    )


def get(tx: Connection, connection_id: str) -> ProjectConnection | None:
    row = tx.execute(select(connection).where(connection.c.id == connection_id)).first()
    return _value(row) if row else None


def find(tx: Connection, project_id: str, name: str) -> ProjectConnection | None:
    row = tx.execute(_of(project_id).where(connection.c.name == name)).first()
    return _value(row) if row else None


def page(tx: Connection, project_id: str, *, limit: int, after: str = "") -> Sequence[ProjectConnection]:
    """At most `limit` connections by name, behind the name `after`."""
    query = _of(project_id).where(connection.c.name > after).order_by(connection.c.name).limit(limit)
    return [_value(row) for row in tx.execute(query)]


def names(tx: Connection, project_id: str) -> Sequence[str]:
    return tx.scalars(select(connection.c.name).where(connection.c.project_id == project_id)).all()


def set_credentials(tx: Connection, connection_id: str, sealed: bytes | None) -> None:
    tx.execute(connection.update().where(connection.c.id == connection_id).values(credentials=sealed))


def set_writable(tx: Connection, connection_id: str, *, writable: bool) -> None:
    tx.execute(connection.update().where(connection.c.id == connection_id).values(writable=writable))


def delete(tx: Connection, connection_id: str) -> None:
    tx.execute(connection.delete().where(connection.c.id == connection_id))


def _of(project_id: str) -> Select[Any]:
    return select(connection).where(connection.c.project_id == project_id)


def _value(row: Row[Any]) -> ProjectConnection:
    kind = row.root.partition("://")[0]
    return ProjectConnection(
        id=row.id,
        project_id=row.project_id,
        name=row.name,
        place=Place(kind, row.root, row.endpoint, row.region),
        sealed=row.credentials,
        created_at=row.created_at,
        created_by=row.created_by,
        writable=row.writable,
    )
