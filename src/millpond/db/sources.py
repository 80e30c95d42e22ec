"""Sources: who runs one just now, and what each has put into its dataset."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, Select, and_, or_, select

from millpond.db.batches import batches
from millpond.db.tables import connection, dataset, project, source, source_object, user
from millpond.model.source import Source, SourceObject


def insert(tx: Connection, value: Source) -> None:
    """IntegrityError when the name is taken."""
    tx.execute(source.insert().values(**asdict(value)))


def get(tx: Connection, source_id: str) -> Source | None:
    row = tx.execute(select(source).where(source.c.id == source_id)).first()
    return _value(row) if row else None


def find(tx: Connection, project_id: str, name: str) -> Source | None:
    """By name, or by id."""
    query = _of(project_id).where(or_(source.c.name == name, source.c.id == name)).order_by(source.c.name == name)
    rows = tx.execute(query).all()
    return _value(rows[-1]) if rows else None


def all_of(tx: Connection) -> Sequence[Source]:
    return [_value(row) for row in tx.execute(select(source).order_by(source.c.id))]


def page(
    tx: Connection, project_id: str, *, limit: int, after: str = "", dataset_id: str | None = None
) -> Sequence[Source]:
    """At most `limit` sources by name, behind the name `after`."""
    query = _of(project_id).where(source.c.name > after).order_by(source.c.name).limit(limit)
    if dataset_id is not None:
        query = query.where(source.c.dataset_id == dataset_id)
    return [_value(row) for row in tx.execute(query)]


def names(tx: Connection, project_id: str) -> Sequence[str]:
    return tx.scalars(select(source.c.name).where(source.c.project_id == project_id)).all()


def labels(tx: Connection, value: Source) -> tuple[str, str, str, str | None]:
    """Names of its project, dataset, connection and user."""
    query = (
        select(project.c.name, dataset.c.name, connection.c.name, user.c.name)
        .select_from(source)
        .join(project, project.c.id == source.c.project_id)
        .join(dataset, dataset.c.id == source.c.dataset_id)
        .join(connection, connection.c.id == source.c.connection_id)
        .outerjoin(user, user.c.id == source.c.user_id)
        .where(source.c.id == value.id)
    )
    row = tx.execute(query).one()
    return row[0], row[1], row[2], row[3]


def using(tx: Connection, connection_id: str) -> Sequence[str]:
    """Names of the sources that read through a connection."""
    query = select(source.c.name).where(source.c.connection_id == connection_id)
    return tx.scalars(query.order_by(source.c.name)).all()


def due(tx: Connection, now: datetime) -> str | None:
    """One source whose time has come and that nobody runs."""
    query = select(source.c.id).where(_is_due(now))
    return tx.scalars(query.order_by(source.c.next_at).limit(1)).first()


def soonest(tx: Connection) -> datetime | None:
    """When the next one is due."""
    query = select(source.c.next_at).where(source.c.paused_at.is_(None)).order_by(source.c.next_at).limit(1)
    return tx.scalars(query).first()


def claim(tx: Connection, source_id: str, runner: str, *, now: datetime, until: datetime) -> bool:
    """Whether `runner` is the one who runs it from now on, alone: not if another has run it since it was found due."""
    query = source.update().where(source.c.id == source_id, _is_due(now))
    return tx.execute(query.values(runner=runner, runner_until=until, started_at=now)).rowcount == 1


def renew(tx: Connection, source_id: str, runner: str, until: datetime) -> bool:
    """Whether it is still `runner` who runs it."""
    query = source.update().where(source.c.id == source_id, source.c.runner == runner)
    return tx.execute(query.values(runner_until=until)).rowcount == 1


def finish(tx: Connection, source_id: str, runner: str, **values: Any) -> bool:
    """Note how the run ended, unless another server has taken over since."""
    query = source.update().where(source.c.id == source_id, source.c.runner == runner)
    return tx.execute(query.values(runner=None, runner_until=None, **values)).rowcount == 1


def change(tx: Connection, source_id: str, **values: Any) -> None:
    tx.execute(source.update().where(source.c.id == source_id).values(**values))


def delete(tx: Connection, source_id: str) -> None:
    tx.execute(source.delete().where(source.c.id == source_id))


def objects(tx: Connection, source_id: str) -> dict[bytes, SourceObject]:
    """What the source has put into its dataset, by path."""
    rows = tx.execute(select(source_object).where(source_object.c.source_id == source_id))
    return {row.path: SourceObject(row.path, row.etag, row.size, row.digest) for row in rows}


def put_objects(tx: Connection, source_id: str, found: Iterable[SourceObject]) -> None:
    for batch in batches(list(found)):
        forget_objects(tx, source_id, [value.path for value in batch])
        rows = [
            {"source_id": source_id, "path": one.path, "etag": one.etag, "size": one.size, "digest": one.digest}
            for one in batch
        ]
        tx.execute(source_object.insert(), rows)


def forget_objects(tx: Connection, source_id: str, paths: Iterable[bytes]) -> None:
    for batch in batches(list(paths)):
        tx.execute(
            source_object.delete().where(source_object.c.source_id == source_id, source_object.c.path.in_(batch))
        )


def _is_due(now: datetime) -> Any:
    is_free = or_(source.c.runner.is_(None), source.c.runner_until <= now)
    return and_(source.c.next_at <= now, source.c.paused_at.is_(None), is_free)


def _of(project_id: str) -> Select[Any]:
    return select(source).where(source.c.project_id == project_id)


def _value(row: Row[Any]) -> Source:
    return Source(**row._mapping)
