"""Mirrors: who works at one just now, and what each has put into its bucket."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, Select, and_, func, or_, select

from millpond.db.batches import BATCH, batches
from millpond.db.tables import connection, dataset, mirror, mirror_object, project, site, user, volume, workspace
from millpond.model.mirror import Mirror, MirroredObject


@dataclass(frozen=True, slots=True)
class MirrorLabels:
    """The names behind a mirror's ids."""

    project: str
    dataset: str | None
    workspace: str | None
    connection: str | None
    volume: str | None
    site: str | None
    user: str | None


def insert(tx: Connection, value: Mirror) -> None:
    """IntegrityError when the name is taken."""
    tx.execute(mirror.insert().values(**asdict(value)))


def get(tx: Connection, mirror_id: str) -> Mirror | None:
    row = tx.execute(select(mirror).where(mirror.c.id == mirror_id)).first()
    return _value(row) if row else None


def find(tx: Connection, project_id: str, name: str, *, seen_by: str | None) -> Mirror | None:
    """By name, or by id, among those that are seen (see `page`)."""
    query = _seen(project_id, seen_by).where(or_(mirror.c.name == name, mirror.c.id == name))
    rows = tx.execute(query.order_by(mirror.c.name == name)).all()
    return _value(rows[-1]) if rows else None


def page(
    tx: Connection, project_id: str, *, limit: int, after: str = "", seen_by: str | None = None
) -> Sequence[Mirror]:  # fmt: skip
    """At most `limit` by name, behind the name `after`. `seen_by`: without those of workspaces that are private to
    others than this user; None: all."""
    query = _seen(project_id, seen_by).where(mirror.c.name > after).order_by(mirror.c.name).limit(limit)
    return [_value(row) for row in tx.execute(query)]


def names(tx: Connection, project_id: str) -> Sequence[str]:
    """Of all, seen or not."""
    return tx.scalars(select(mirror.c.name).where(mirror.c.project_id == project_id)).all()


def labels(tx: Connection, values: Iterable[Mirror]) -> Mapping[str, MirrorLabels]:
    """By mirror."""
    columns = (project, dataset, workspace, connection, volume, site, user)
    query = (
        select(mirror.c.id, *(table.c.name for table in columns))
        .select_from(mirror)
        .join(project, project.c.id == mirror.c.project_id)
        .outerjoin(dataset, dataset.c.id == mirror.c.dataset_id)
        .outerjoin(workspace, workspace.c.id == mirror.c.workspace_id)
        .outerjoin(connection, connection.c.id == mirror.c.connection_id)
        .outerjoin(volume, volume.c.id == mirror.c.volume_id)
        .outerjoin(site, site.c.id == volume.c.site_id)
        .outerjoin(user, user.c.id == mirror.c.user_id)
        .where(mirror.c.id.in_([value.id for value in values]))
    )
    return {row[0]: MirrorLabels(*row[1:]) for row in tx.execute(query)}


def using_connection(tx: Connection, connection_id: str) -> Sequence[str]:
    """Names of the mirrors that write through a connection."""
    query = select(mirror.c.name).where(mirror.c.connection_id == connection_id)
    return tx.scalars(query.order_by(mirror.c.name)).all()


def prefixes(tx: Connection, connection_id: str) -> Mapping[str, str]:
    """Names of the mirrors that write through a connection, by the prefix of each."""
    query = select(mirror.c.uri, mirror.c.name).where(mirror.c.connection_id == connection_id)
    return {row.uri: row.name for row in tx.execute(query)}


def kept_on(tx: Connection, volume_id: str) -> Mapping[str, str]:
    """The commits that mirrors keep on a volume, what is there and what is on its way, and the mirror of each."""
    query = select(mirror.c.commit_id, mirror.c.bringing, mirror.c.name).where(mirror.c.volume_id == volume_id)
    rows = tx.execute(query.order_by(mirror.c.name.desc())).all()
    return {commit_id: row.name for row in rows for commit_id in (row.commit_id, row.bringing) if commit_id}


def due(tx: Connection, now: datetime) -> str | None:
    """One whose time has come and that nobody works at."""
    return tx.scalars(select(mirror.c.id).where(_is_due(now)).order_by(mirror.c.next_at).limit(1)).first()


def claim(tx: Connection, mirror_id: str, runner: str, *, now: datetime, until: datetime) -> bool:
    """Whether `runner` is the one who works at it from now on, alone: not if another has since it was found due."""
    query = mirror.update().where(mirror.c.id == mirror_id, _is_due(now))
    return tx.execute(query.values(runner=runner, runner_until=until)).rowcount == 1


def renew(tx: Connection, mirror_id: str, runner: str, until: datetime) -> bool:
    """Whether it is still `runner` who works at it."""
    query = mirror.update().where(mirror.c.id == mirror_id, mirror.c.runner == runner)
    return tx.execute(query.values(runner_until=until)).rowcount == 1


def change_claimed(tx: Connection, mirror_id: str, runner: str, **values: Any) -> bool:
    """Change it, unless another server has taken over since."""
    query = mirror.update().where(mirror.c.id == mirror_id, mirror.c.runner == runner)
    return tx.execute(query.values(**values)).rowcount == 1


def give_up(tx: Connection, mirror_id: str, runner: str, **values: Any) -> bool:
    """The same, and let any server work at it next."""
    query = mirror.update().where(mirror.c.id == mirror_id, mirror.c.runner == runner)
    return tx.execute(query.values(runner=None, runner_until=None, **values)).rowcount == 1


def change(tx: Connection, mirror_id: str, **values: Any) -> None:
    tx.execute(mirror.update().where(mirror.c.id == mirror_id).values(**values))


def delete(tx: Connection, mirror_id: str) -> None:
    tx.execute(mirror.delete().where(mirror.c.id == mirror_id))


def all_mirrors(tx: Connection) -> Sequence[Mirror]:
    return [_value(row) for row in tx.execute(select(mirror).order_by(mirror.c.id))]


def objects_behind(tx: Connection, mirror_id: str, path: bytes | None, limit: int = BATCH) -> list[MirroredObject]:
    """The next in the order of paths, behind `path` if one is given."""
    mine = mirror_object.c.mirror_id == mirror_id
    query = select(mirror_object.c.path, mirror_object.c.etag, mirror_object.c.size, mirror_object.c.digest).where(mine)
    if path is not None:
        query = query.where(mirror_object.c.path > path)
    rows = tx.execute(query.order_by(mirror_object.c.path).limit(limit))
    return [MirroredObject(path, etag, size, digest) for path, etag, size, digest in rows]


def count_objects(tx: Connection, mirror_id: str) -> int:
    return tx.scalar(select(func.count()).where(mirror_object.c.mirror_id == mirror_id)) or 0


def put_objects(tx: Connection, mirror_id: str, found: Iterable[MirroredObject]) -> None:
    for batch in batches(list(found)):
        forget_objects(tx, mirror_id, [value.path for value in batch])
        tx.execute(mirror_object.insert(), [{"mirror_id": mirror_id, **asdict(one)} for one in batch])


def forget_objects(tx: Connection, mirror_id: str, paths: Iterable[bytes]) -> None:
    for batch in batches(list(paths)):
        mine = and_(mirror_object.c.mirror_id == mirror_id, mirror_object.c.path.in_(batch))
        tx.execute(mirror_object.delete().where(mine))


def _seen(project_id: str, seen_by: str | None) -> Select[Any]:
    query = select(mirror).where(mirror.c.project_id == project_id)
    if seen_by is None:
        return query
    visible = or_(mirror.c.workspace_id.is_(None), workspace.c.shared, workspace.c.owner_id == seen_by)
    return query.outerjoin(workspace, workspace.c.id == mirror.c.workspace_id).where(visible)


def _is_due(now: datetime) -> Any:
    is_free = or_(mirror.c.runner.is_(None), mirror.c.runner_until <= now)
    return and_(mirror.c.next_at <= now, mirror.c.paused_at.is_(None), is_free)


def _value(row: Row[Any]) -> Mirror:
    return Mirror(**row._mapping)
