"""Cached commits. Absent ones have no row."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, Select, and_, or_, select

from millpond.db.batches import batches
from millpond.db.tables import cached, commit, dataset, page, project, site, volume
from millpond.model.cached_state import CachedState
from millpond.model.dataset import DatasetKind
from millpond.model.volume import CachedCommit, Cause

# Two blocks for each file: the one it does not fill, and a directory of its own.
_MOST_OVERHEAD = 2 * 4096


@dataclass(frozen=True, slots=True)
class CachedView:
    """A cached commit with the names people know it by."""

    cached: CachedCommit
    volume: str
    volume_path: str
    volume_idle_seconds: int
    site_id: str
    site: str
    project: str
    dataset: str
    tree: str
    kind: DatasetKind = DatasetKind.DATA
    dataset_idle_seconds: int | None = None
    # What is wrong with its volume now.
    volume_problem: str | None = None
    # When the agent that fills its volume was heard of last.
    volume_seen_at: datetime | None = None
    # Why nothing new may use it, in words: its dataset is in the bin, or nothing names its commit any more.
    leaving: str | None = None
    # Whether it is the first of these.
    is_deleted: bool = False

    @property
    def written(self) -> str:
        return f"{self.project}/{self.dataset}@{self.cached.commit_id[:8]}"

    @property
    def idle_seconds(self) -> int:
        """After how long unused it goes: its own word, else its dataset's, else the volume's."""
        given = (self.cached.idle_seconds, self.dataset_idle_seconds, self.volume_idle_seconds)
        return next(seconds for seconds in given if seconds is not None)


@dataclass(frozen=True, slots=True)
class CommitSize:
    """What admission must know of a commit, from rows alone."""

    commit_id: str
    project_id: str
    project: str
    dataset_id: str
    dataset: str
    files: int
    bytes: int
    # What the file system will allocate for it, and how many files and directories that is.
    allocated: int
    inodes: int
    # What of `allocated` is directories; None where that was never counted.
    directory_bytes: int | None = None
    tree: str = ""
    # Nothing named it when that was last looked at.
    is_set_aside: bool = False

    @property
    def written(self) -> str:
        return f"{self.project}/{self.dataset}@{self.commit_id[:8]}"


def insert(tx: Connection, value: CachedCommit) -> None:
    """IntegrityError when the volume has this commit already: once and only once."""
    enums = {"state": value.state.value, "cause": value.cause.value if value.cause else None}
    tx.execute(cached.insert().values(**(asdict(value) | enums)))


def change(
    tx: Connection, cached_id: str, *, state: CachedState | None = None, cause: Cause | None = None, **values: Any
) -> None:
    if state is not None:
        values["state"] = state.value
    if cause is not None:
        values["cause"] = cause.value
    tx.execute(cached.update().where(cached.c.id == cached_id).values(**values))


def delete(tx: Connection, cached_id: str) -> None:
    tx.execute(cached.delete().where(cached.c.id == cached_id))


def touch(tx: Connection, cached_ids: Collection[str], now: datetime) -> None:
    if cached_ids:
        tx.execute(cached.update().where(cached.c.id.in_(cached_ids)).values(used_at=now))


def get(tx: Connection, cached_id: str) -> CachedView | None:
    row = tx.execute(_select().where(cached.c.id == cached_id)).first()
    return _view(row) if row else None


def of_ids(tx: Connection, cached_ids: Collection[str]) -> Sequence[CachedView]:
    return [_view(row) for row in tx.execute(_select().where(cached.c.id.in_(cached_ids)))] if cached_ids else []


def find(tx: Connection, volume_id: str, commit_id: str) -> CachedView | None:
    query = _select().where(cached.c.volume_id == volume_id, cached.c.commit_id == commit_id)
    row = tx.execute(query).first()
    return _view(row) if row else None


def of_volume(tx: Connection, volume_id: str) -> Sequence[CachedView]:
    return [_view(row) for row in tx.execute(_select().where(cached.c.volume_id == volume_id).order_by(cached.c.id))]


def of_dataset(tx: Connection, dataset_id: str) -> Sequence[CachedView]:
    return [_view(row) for row in tx.execute(_select().where(cached.c.dataset_id == dataset_id).order_by(cached.c.id))]


def filling(tx: Connection) -> Sequence[CachedView]:
    """Fills under way, on all volumes."""
    query = _select().where(cached.c.state == CachedState.FILLING.value, cached.c.attempt > 0)
    return [_view(row) for row in tx.execute(query.order_by(cached.c.id))]


def held_up(tx: Connection) -> Sequence[CachedView]:
    """Fills that cannot go on now, on volumes that are well."""
    query = _select().where(
        cached.c.state == CachedState.FILLING.value, cached.c.problem.is_not(None), volume.c.problem.is_(None)
    )
    return [_view(row) for row in tx.execute(query.order_by(cached.c.requested_at, cached.c.id))]


def leaving(tx: Connection, *, volume_id: str | None = None) -> Sequence[CachedView]:
    """What goes as soon as nobody holds it: of deleted datasets, and commits that are set aside."""
    query = _select().where(or_(dataset.c.deleted_at.is_not(None), commit.c.set_aside_at.is_not(None)))
    if volume_id is not None:
        query = query.where(cached.c.volume_id == volume_id)
    return [_view(row) for row in tx.execute(query.order_by(cached.c.id))]


def of_commits(tx: Connection, commit_ids: Collection[str]) -> Sequence[CachedView]:
    query = _select().where(cached.c.commit_id.in_(commit_ids)).order_by(volume.c.name)
    return [_view(row) for row in tx.execute(query)] if commit_ids else []


def page_of(
    tx: Connection,
    *,
    among: Collection[str] | None,
    limit: int,
    after: str = "",
    volume_id: str | None = None,
    dataset_id: str | None = None,
    kinds: Collection[DatasetKind] = (),
) -> Sequence[CachedView]:
    """At most `limit` by id, behind `after`; only of projects whose id is `among`, None meaning all; no kinds: all."""
    query = _select().where(cached.c.id > after).order_by(cached.c.id).limit(limit)
    if among is not None:
        query = query.where(cached.c.project_id.in_(among))
    if volume_id is not None:
        query = query.where(cached.c.volume_id == volume_id)
    if dataset_id is not None:
        query = query.where(cached.c.dataset_id == dataset_id)
    if kinds:
        query = query.where(dataset.c.kind.in_([kind.value for kind in kinds]))
    return [_view(row) for row in tx.execute(query)]


def size_of(tx: Connection, commit_id: str) -> CommitSize | None:
    """A commit's place and size; None for one that does not exist or whose dataset was deleted."""
    row = tx.execute(
        select(commit, dataset.c.project_id, dataset.c.name.label("dataset"), project.c.name.label("project"))
        .join(dataset, dataset.c.id == commit.c.dataset_id)
        .join(project, project.c.id == dataset.c.project_id)
        .where(commit.c.id == commit_id, dataset.c.deleted_at.is_(None))
    ).first()
    if row is None:
        return None
    root = and_(page.c.project_id == row.project_id, page.c.id == bytes.fromhex(row.tree))
    sized = tx.execute(select(page.c.allocated, page.c.inodes, page.c.directory_bytes).where(root)).first()
    allocated, inodes, directory_bytes = sized or (None, None, None)
    if allocated is None:  # a page that is being checked anew: never less than it will be
        allocated = row.bytes + (row.files + 1) * _MOST_OVERHEAD
    if inodes is None:  # a directory for each file, and the root
        inodes = 2 * row.files + 1
    return CommitSize(
        commit_id=row.id,
        project_id=row.project_id,
        project=row.project,
        dataset_id=row.dataset_id,
        dataset=row.dataset,
        files=row.files,
        bytes=row.bytes,
        allocated=allocated,
        inodes=inodes,
        directory_bytes=directory_bytes,
        tree=row.tree,
        is_set_aside=row.set_aside_at is not None,
    )


def sizes_of(tx: Connection, commit_ids: Collection[str]) -> list[CommitSize]:
    """Of those that exist, and whose datasets do."""
    living = (
        select(commit.c.id).join(dataset, dataset.c.id == commit.c.dataset_id).where(dataset.c.deleted_at.is_(None))
    )
    known = [
        commit_id
        for batch in batches(sorted(commit_ids))
        for commit_id in tx.scalars(living.where(commit.c.id.in_(batch)))
    ]
    return [size for commit_id in known if (size := size_of(tx, commit_id)) is not None]


def _select() -> Select[Any]:
    return (
        select(
            cached,
            volume.c.name.label("volume"),
            volume.c.path.label("volume_path"),
            volume.c.idle_seconds.label("volume_idle_seconds"),
            volume.c.problem.label("volume_problem"),
            volume.c.seen_at.label("volume_seen_at"),
            site.c.id.label("site_id"),
            site.c.name.label("site"),
            project.c.name.label("project"),
            dataset.c.name.label("dataset"),
            dataset.c.kind.label("kind"),
            dataset.c.cache_idle_seconds.label("dataset_idle_seconds"),
            dataset.c.deleted_at.label("dataset_deleted_at"),
            commit.c.tree.label("tree"),
            commit.c.set_aside_at.label("set_aside_at"),
        )
        .join(volume, volume.c.id == cached.c.volume_id)
        .join(site, site.c.id == volume.c.site_id)
        .join(project, project.c.id == cached.c.project_id)
        .join(dataset, dataset.c.id == cached.c.dataset_id)
        .join(commit, commit.c.id == cached.c.commit_id)
    )


def _view(row: Row[Any]) -> CachedView:
    return CachedView(
        cached=CachedCommit(
            id=row.id,
            volume_id=row.volume_id,
            project_id=row.project_id,
            dataset_id=row.dataset_id,
            commit_id=row.commit_id,
            state=CachedState(row.state),
            attempt=row.attempt,
            reserved_bytes=row.reserved_bytes,
            bytes=row.bytes,
            files=row.files,
            done_bytes=row.done_bytes,
            done_files=row.done_files,
            requested_by=row.requested_by,
            requested_at=row.requested_at,
            ready_at=row.ready_at,
            used_at=row.used_at,
            idle_seconds=row.idle_seconds,
            pinned=row.pinned,
            reason=row.reason,
            problem=row.problem,
            base_id=row.base_id,
            reserved_inodes=row.reserved_inodes,
            fetch_bytes=row.fetch_bytes,
            fetch_files=row.fetch_files,
            pinned_by=row.pinned_by,
            pinned_at=row.pinned_at,
            verify=row.verify,
            verification=row.verification,
            cause=Cause(row.cause) if row.cause else None,
            cleared_by=row.cleared_by,
            found=row.found,
            prefetch=row.prefetch,
        ),
        volume=row.volume,
        volume_path=row.volume_path,
        volume_idle_seconds=row.volume_idle_seconds,
        volume_problem=row.volume_problem,
        volume_seen_at=row.volume_seen_at,
        site_id=row.site_id,
        site=row.site,
        project=row.project,
        dataset=row.dataset,
        tree=row.tree,
        kind=DatasetKind(row.kind),
        dataset_idle_seconds=row.dataset_idle_seconds,
        leaving=_why_leaving(row),
        is_deleted=row.dataset_deleted_at is not None,
    )


def _why_leaving(row: Row[Any]) -> str | None:
    if row.dataset_deleted_at is not None:
        return "its dataset was deleted"
    return "no ref contains the commit any longer" if row.set_aside_at is not None else None
