"""Datasets: rows, cards, and the records of the lake that are reserved but not yet known to be written.

A dataset whose `next_record` is 0 is not visible yet: the record that creates it is still on its way to the lake.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Double, Row, Select, and_, case, cast, func, or_, select

from millpond.db.tables import cached, commit, dataset, member, project, record, ref, user
from millpond.errors import NotFound
from millpond.model.dataset import Dataset, DatasetKind
from millpond.model.names import DEFAULT_BRANCH


@dataclass(frozen=True, slots=True)
class Card:
    """A dataset as the hub shows it."""

    dataset: Dataset
    commits: int
    cached_commits: int
    head: str | None
    files: int
    bytes: int
    deleted_at: datetime | None = None
    retention: Mapping[str, Any] | None = None
    cache_idle_seconds: int | None = None
    conflict: str | None = None


@dataclass(frozen=True, slots=True)
class InConflict:
    """A dataset that differs from the lake."""

    project_id: str
    dataset_id: str
    written: str
    reason: str


@dataclass(frozen=True, slots=True)
class PendingRecord:
    project_id: str
    dataset_id: str
    n: int
    body: str


def insert(tx: Connection, value: Dataset, *, next_record: int = 0, deleted_at: datetime | None = None) -> None:
    """Not visible before its next record is 1. IntegrityError when the name is taken in the project."""
    tx.execute(
        dataset.insert().values(
            id=value.id,
            project_id=value.project_id,
            name=value.name,
            kind=value.kind.value,
            description=value.description,
            created_at=value.created_at,
            created_by=value.created_by,
            active_at=value.active_at,
            next_record=next_record,
            deleted_at=deleted_at,
        )
    )


def settings_of(tx: Connection, dataset_id: str) -> tuple[Mapping[str, Any] | None, int | None]:
    """Its rule of retention, and after how many seconds unused its cached commits go."""
    row = tx.execute(select(dataset.c.retention, dataset.c.cache_idle_seconds).where(dataset.c.id == dataset_id)).one()
    return row.retention, row.cache_idle_seconds


def change(tx: Connection, dataset_id: str, **values: Any) -> None:
    tx.execute(dataset.update().where(dataset.c.id == dataset_id).values(**values))


def living(tx: Connection, dataset_ids: Collection[str], *, among: Collection[str] | None) -> frozenset[str]:
    """Those of these datasets that exist and are not in the bin, of projects `among`; None for all."""
    query = select(dataset.c.id).where(dataset.c.id.in_(dataset_ids), dataset.c.deleted_at.is_(None))
    if among is not None:
        query = query.where(dataset.c.project_id.in_(among))
    return frozenset(tx.scalars(query))


def get(tx: Connection, dataset_id: str) -> Dataset | None:
    row = tx.execute(_select().where(dataset.c.id == dataset_id, _visible())).first()
    return to_dataset(row) if row else None


def find(tx: Connection, project_id: str, name: str) -> Dataset | None:
    query = _select().where(dataset.c.project_id == project_id, dataset.c.name == name, _visible())
    row = tx.execute(query).first()
    return to_dataset(row) if row else None


def find_everywhere(tx: Connection, name: str, *, among: Collection[str] | None) -> Sequence[Dataset]:
    """Datasets of that name in the projects whose id is `among`, None meaning all."""
    query = _select().where(dataset.c.name == name, _visible(), *_only(among)).order_by(project.c.name)
    return [to_dataset(row) for row in tx.execute(query)]


def names(tx: Connection, project_id: str) -> Sequence[str]:
    return tx.scalars(select(dataset.c.name).where(dataset.c.project_id == project_id, _visible())).all()


def written_names(tx: Connection, *, among: Collection[str] | None) -> Sequence[str]:
    query = select(project.c.name, dataset.c.name).join(project).where(_visible(), *_only(among))
    return [f"{row[0]}/{row[1]}" for row in tx.execute(query)]


def cards(
    tx: Connection,
    *,
    among: Collection[str] | None,
    limit: int,
    after: tuple[str, str] = ("", ""),
    search: str = "",
    only: str | None = None,
    kind: DatasetKind = DatasetKind.DATA,
) -> Sequence[Card]:
    """At most `limit` cards by project and name, behind `after`; `only` one dataset id, or all of a kind."""
    query = _cards().where(_visible(), *_only(among)).order_by(project.c.name, dataset.c.name).limit(limit)
    query = query.where(dataset.c.id == only if only else dataset.c.kind == kind.value)
    name, below = after
    query = query.where(or_(project.c.name > name, and_(project.c.name == name, dataset.c.name > below)))
    if search:
        pattern = f"%{_escaped(search.lower())}%"
        query = query.where(
            or_(
                func.lower(dataset.c.name).like(pattern, escape="\\"),
                func.lower(dataset.c.description).like(pattern, escape="\\"),
            )
        )
    return [_card(row) for row in tx.execute(query)]


def totals(tx: Connection, *, among: Collection[str] | None) -> tuple[int, int]:
    """How many datasets people made, and the bytes of their newest commits."""
    query = (
        select(func.count(), func.coalesce(func.sum(cast(commit.c.bytes, Double)), 0))
        .select_from(_with_head())
        .where(_visible(), dataset.c.kind == DatasetKind.DATA.value, *_only(among))
    )
    count, total = tx.execute(query).one()
    return count, int(total)


def member_names(tx: Connection, project_ids: Collection[str]) -> Mapping[str, Sequence[str]]:
    """Names of the people with a role, by project."""
    query = (
        select(member.c.project_id, user.c.name)
        .join(user, user.c.id == member.c.user_id)
        .where(member.c.project_id.in_(project_ids))
        .order_by(user.c.name)
    )
    found: dict[str, list[str]] = defaultdict(list)
    for row in tx.execute(query):
        found[row.project_id].append(row.name)
    return found


# The bin ---------------------------------------------------------------------------------------------


def deleted(
    tx: Connection, *, among: Collection[str] | None, limit: int, before: tuple[datetime, str] | None = None
) -> Sequence[Card]:
    """Datasets of people that were deleted in these projects, newest first."""
    query = _cards().where(dataset.c.deleted_at.is_not(None), dataset.c.kind == DatasetKind.DATA.value, *_only(among))
    if before is not None:
        moment, dataset_id = before
        earlier = and_(dataset.c.deleted_at == moment, dataset.c.id < dataset_id)
        query = query.where(or_(dataset.c.deleted_at < moment, earlier))
    rows = tx.execute(query.order_by(dataset.c.deleted_at.desc(), dataset.c.id.desc()).limit(limit))
    return [_card(row) for row in rows]


def find_deleted(tx: Connection, project_id: str, name: str) -> Sequence[tuple[Dataset, datetime]]:
    """Deleted datasets of that name or id, newest first."""
    key = or_(dataset.c.name == name, dataset.c.id == name)
    query = _select().where(dataset.c.project_id == project_id, key, dataset.c.deleted_at.is_not(None))
    return [(to_dataset(row), row.deleted_at) for row in tx.execute(query.order_by(dataset.c.deleted_at.desc()))]


def deleted_before(tx: Connection, moment: datetime, *, limit: int) -> Sequence[Dataset]:
    query = _select().where(dataset.c.deleted_at < moment).order_by(dataset.c.deleted_at).limit(limit)
    return [to_dataset(row) for row in tx.execute(query)]


def is_deleted(tx: Connection, dataset_id: str) -> bool:
    key = and_(dataset.c.id == dataset_id, dataset.c.deleted_at.is_not(None))
    return tx.execute(select(dataset.c.id).where(key)).first() is not None


def name_of(tx: Connection, dataset_id: str) -> str | None:
    """Also of one that is not visible."""
    return tx.scalars(select(dataset.c.name).where(dataset.c.id == dataset_id)).first()


# Records ---------------------------------------------------------------------------------------------


def lock_names(tx: Connection, project_id: str) -> None:
    """Nobody else gives a name in this project until the transaction ends."""
    tx.execute(select(project.c.id).where(project.c.id == project_id).with_for_update())


def taken(tx: Connection, project_id: str, name: str, *, besides: str = "") -> bool:
    """Whether a living dataset has the name, visible or not; `besides` one dataset id."""
    key = and_(dataset.c.project_id == project_id, dataset.c.name == name, dataset.c.deleted_at.is_(None))
    return tx.execute(select(dataset.c.id).where(key, dataset.c.id != besides)).first() is not None


def lock_next_record(tx: Connection, dataset_id: str) -> int:
    """The number of the dataset's next record; nobody else takes one until the transaction ends."""
    query = select(dataset.c.next_record).where(dataset.c.id == dataset_id).with_for_update()
    number: int | None = tx.execute(query).scalar_one_or_none()
    if number is None:
        raise NotFound("The dataset was removed for good.")
    return number


def insert_record(tx: Connection, value: PendingRecord, *, lock: str | None, now: datetime) -> None:
    tx.execute(
        record.insert().values(dataset_id=value.dataset_id, n=value.n, body=value.body, ref_name=lock, reserved_at=now)
    )


def locked_by(tx: Connection, dataset_id: str, lock: str) -> PendingRecord | None:
    """The pending record that holds this lock."""
    row = tx.execute(_pending().where(record.c.dataset_id == dataset_id, record.c.ref_name == lock)).first()
    return _pending_record(row) if row else None


def pending(
    tx: Connection, *, before: datetime | None = None, project_id: str | None = None, lock: str | None = None
) -> Sequence[PendingRecord]:
    """Records reserved before a moment, of a project, with a lock; oldest first."""
    query = _pending().order_by(record.c.dataset_id, record.c.n)
    if before is not None:
        query = query.where(record.c.reserved_at < before)
    if project_id is not None:
        query = query.where(dataset.c.project_id == project_id)
    if lock is not None:
        query = query.where(record.c.ref_name == lock)
    return [_pending_record(row) for row in tx.execute(query)]


def delete_record(tx: Connection, dataset_id: str, n: int) -> bool:
    """Whether it was still pending: exactly one of those who finish a record makes it visible."""
    key = and_(record.c.dataset_id == dataset_id, record.c.n == n)
    return tx.execute(record.delete().where(key)).rowcount > 0


# Compared with the lake ------------------------------------------------------------------------------


def next_records(tx: Connection, project_id: str | None = None) -> Sequence[tuple[str, str, int]]:
    """Project, id and next record of every dataset that is not in conflict already, also of those in the bin."""
    query = select(dataset.c.project_id, dataset.c.id, dataset.c.next_record).where(
        dataset.c.conflict.is_(None), dataset.c.next_record > 0
    )
    if project_id is not None:
        query = query.where(dataset.c.project_id == project_id)
    return [(row[0], row[1], row[2]) for row in tx.execute(query)]


def set_conflicts(tx: Connection, project_id: str, reason: str | None) -> None:
    """For all datasets of a project; None: they agree with the lake."""
    tx.execute(dataset.update().where(dataset.c.project_id == project_id).values(conflict=reason))


def drop_records(tx: Connection, dataset_id: str) -> None:
    """Give up what was reserved and is not in the lake."""
    tx.execute(record.delete().where(record.c.dataset_id == dataset_id))


def in_conflict(
    tx: Connection, *, dataset_id: str | None = None, project_id: str | None = None
) -> Sequence[InConflict]:
    """Datasets that differ from the lake, by project and name."""
    query = _select().add_columns(dataset.c.conflict).where(dataset.c.conflict.is_not(None))
    if dataset_id is not None:
        query = query.where(dataset.c.id == dataset_id)
    if project_id is not None:
        query = query.where(dataset.c.project_id == project_id)
    rows = tx.execute(query.order_by(project.c.name, dataset.c.name))
    return [InConflict(row.project_id, row.id, f"{row.project}/{row.name}", row.conflict) for row in rows]


# Parts -----------------------------------------------------------------------------------------------


def _visible() -> ColumnElement[bool]:
    return and_(dataset.c.deleted_at.is_(None), dataset.c.next_record > 0)


def _only(among: Collection[str] | None) -> list[ColumnElement[bool]]:
    return [] if among is None else [dataset.c.project_id.in_(among)]


def _select() -> Select[Any]:
    return select(dataset, project.c.name.label("project")).join(project, project.c.id == dataset.c.project_id)


def _with_head() -> Any:
    head = and_(ref.c.dataset_id == dataset.c.id, ref.c.name == DEFAULT_BRANCH)
    return dataset.join(project).outerjoin(ref, head).outerjoin(commit, commit.c.id == ref.c.commit_id)


def _cards() -> Select[Any]:
    commits = select(func.count()).where(commit.c.dataset_id == dataset.c.id).correlate(dataset).scalar_subquery()
    # A commit on two volumes is one cached commit.
    held = select(func.count(cached.c.commit_id.distinct()))
    held = held.where(cached.c.dataset_id == dataset.c.id, cached.c.state == "ready")
    return select(
        dataset,
        project.c.name.label("project"),
        commits.label("commits"),
        held.correlate(dataset).scalar_subquery().label("cached_commits"),
        ref.c.commit_id.label("head"),
        case((commit.c.id.is_(None), 0), else_=commit.c.files).label("files"),
        case((commit.c.id.is_(None), 0), else_=commit.c.bytes).label("bytes"),
    ).select_from(_with_head())


def _pending() -> Select[Any]:
    return select(record, dataset.c.project_id).join(dataset, dataset.c.id == record.c.dataset_id)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def to_dataset(row: Row[Any]) -> Dataset:
    return Dataset(
        id=row.id,
        project_id=row.project_id,
        project=row.project,
        name=row.name,
        kind=DatasetKind(row.kind),
        description=row.description,
        created_at=row.created_at,
        created_by=row.created_by,
        active_at=row.active_at,
    )


def _card(row: Row[Any]) -> Card:
    return Card(
        dataset=to_dataset(row),
        commits=row.commits,
        cached_commits=row.cached_commits,
        head=row.head,
        files=row.files,
        bytes=row.bytes,
        deleted_at=row.deleted_at,
        retention=row.retention,
        cache_idle_seconds=row.cache_idle_seconds,
        conflict=row.conflict,
    )


def _pending_record(row: Row[Any]) -> PendingRecord:
    return PendingRecord(row.project_id, row.dataset_id, row.n, row.body)
