"""What a replica holds: packs, pages, commits, and records of datasets."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, and_, or_, select

from millpond.db.batches import batches
from millpond.db.insert import insert_missing
from millpond.db.lake_replicas import lacks_commit
from millpond.db.tables import (
    commit,
    dataset,
    pack,
    page,
    promised_page,
)
from millpond.db.tables import (
    lake_replica_commit as replica_commit,
)
from millpond.db.tables import (
    lake_replica_dataset as replica_dataset,
)
from millpond.db.tables import (
    lake_replica_pack as replica_pack,
)
from millpond.db.tables import (
    lake_replica_page as replica_page,
)


@dataclass(frozen=True, slots=True)
class MissingCommit:
    id: str
    tree: str
    dataset_id: str
    project_id: str


@dataclass(frozen=True, slots=True)
class CopiedRecords:
    """How far the records of a dataset are: in the lake, and in the replica."""

    dataset_id: str
    project_id: str
    next_record: int
    last_key: str


def missing_commits(tx: Connection, replica_id: str, *, limit: int) -> list[MissingCommit]:
    """Commits that it does not hold entirely, the oldest first."""
    query = select(commit.c.id, commit.c.tree, commit.c.dataset_id, dataset.c.project_id)
    query = query.join(dataset, dataset.c.id == commit.c.dataset_id).where(lacks_commit(replica_id))
    rows = tx.execute(query.order_by(commit.c.time, commit.c.id).limit(limit))
    return [MissingCommit(row.id, row.tree, row.dataset_id, row.project_id) for row in rows]


def missing_pages(tx: Connection, replica_id: str, project_id: str, page_ids: Iterable[str]) -> Mapping[str, int]:
    """Those of these pages that it lacks, each with its level."""
    found: dict[str, int] = {}
    for batch in batches(page_ids):
        ids = [bytes.fromhex(page_id) for page_id in batch]
        of_replica = and_(replica_page.c.project_id == project_id, replica_page.c.replica_id == replica_id)
        held = set(tx.scalars(select(replica_page.c.page_id).where(of_replica, replica_page.c.page_id.in_(ids))))
        query = select(page.c.id, page.c.level).where(page.c.project_id == project_id, page.c.id.in_(ids))
        levels = {row.id: row.level for row in tx.execute(query)}
        # Pages above the leaves are forgotten for a while when a bad pack is found; they are there all the same.
        found.update({one.hex(): levels.get(one, 1) for one in ids if one not in held})
    return found


def missing_packs(tx: Connection, replica_id: str, pack_ids: Iterable[str]) -> Mapping[str, int]:
    """Those of these packs that it lacks, each with its size."""
    found: dict[str, int] = {}
    for batch in batches(pack_ids):
        query = select(replica_pack.c.pack_id).where(replica_pack.c.replica_id == replica_id)
        held = set(tx.scalars(query.where(replica_pack.c.pack_id.in_(batch))))
        sizes = tx.execute(select(pack.c.id, pack.c.bytes).where(pack.c.id.in_(batch)))
        found.update({row.id: row.bytes for row in sizes if row.id not in held})
    return found


def add_packs(tx: Connection, replica_id: str, pack_ids: Collection[str]) -> None:
    """Those that are still in the lake."""
    known = tx.scalars(select(pack.c.id).where(pack.c.id.in_(pack_ids)))
    insert_missing(tx, replica_pack, [{"pack_id": one, "replica_id": replica_id} for one in known])


def add_pages(tx: Connection, replica_id: str, project_id: str, page_ids: Collection[str]) -> None:
    for batch in batches(page_ids):
        ids = [bytes.fromhex(one) for one in batch]
        known = tx.scalars(select(page.c.id).where(page.c.project_id == project_id, page.c.id.in_(ids)))
        rows = [{"project_id": project_id, "page_id": one, "replica_id": replica_id} for one in known]
        insert_missing(tx, replica_page, rows)


def add_commit(tx: Connection, replica_id: str, commit_id: str, now: datetime) -> None:
    if tx.scalar(select(commit.c.id).where(commit.c.id == commit_id)) is not None:
        insert_missing(tx, replica_commit, [{"commit_id": commit_id, "replica_id": replica_id, "copied_at": now}])


def holds_commit(tx: Connection, replica_id: str, commit_id: str) -> bool:
    """Also True for one that the lake has no more: nothing of it need be copied."""
    query = select(commit.c.id).where(commit.c.id == commit_id, lacks_commit(replica_id))
    return tx.scalar(query) is None


def behind_records(tx: Connection, replica_id: str) -> Sequence[CopiedRecords]:
    """Datasets with records that were not copied yet."""
    of_replica = and_(replica_dataset.c.dataset_id == dataset.c.id, replica_dataset.c.replica_id == replica_id)
    query = (
        select(dataset.c.id, dataset.c.project_id, dataset.c.next_record, replica_dataset.c.last_key)
        .outerjoin(replica_dataset, of_replica)
        .where(or_(replica_dataset.c.next_record.is_(None), replica_dataset.c.next_record < dataset.c.next_record))
        .order_by(dataset.c.id)
    )
    return [CopiedRecords(row.id, row.project_id, row.next_record, row.last_key or "") for row in tx.execute(query)]


def note_records(tx: Connection, replica_id: str, dataset_id: str, next_record: int, last_key: str) -> None:
    if tx.scalar(select(dataset.c.id).where(dataset.c.id == dataset_id)) is None:
        return
    row = {"dataset_id": dataset_id, "replica_id": replica_id, "next_record": next_record, "last_key": last_key}
    insert_missing(tx, replica_dataset, [row])
    key = and_(replica_dataset.c.dataset_id == dataset_id, replica_dataset.c.replica_id == replica_id)
    tx.execute(replica_dataset.update().where(key).values(next_record=next_record, last_key=last_key))


def forget_pages(tx: Connection, project_id: str, page_ids: Collection[bytes]) -> None:
    """Their locators have changed: they are copied again, and the commits of the project count as whole after that."""
    tx.execute(
        replica_page.delete().where(replica_page.c.project_id == project_id, replica_page.c.page_id.in_(page_ids))
    )
    forget_commits(tx, project_id)


def forget_commits(tx: Connection, project_id: str, replica_id: str | None = None) -> None:
    of_project = select(commit.c.id).join(dataset, dataset.c.id == commit.c.dataset_id)
    key = replica_commit.c.commit_id.in_(of_project.where(dataset.c.project_id == project_id))
    tx.execute(
        replica_commit.delete().where(
            key if replica_id is None else and_(key, replica_commit.c.replica_id == replica_id)
        )
    )


def forget_packs(tx: Connection, replica_id: str, pack_ids: Collection[str]) -> None:
    tx.execute(
        replica_pack.delete().where(replica_pack.c.replica_id == replica_id, replica_pack.c.pack_id.in_(pack_ids))
    )


def forget_page_rows(tx: Connection, replica_id: str, project_id: str, page_ids: Collection[str]) -> None:
    ids = [bytes.fromhex(one) for one in page_ids]
    key = and_(replica_page.c.replica_id == replica_id, replica_page.c.project_id == project_id)
    tx.execute(replica_page.delete().where(key, replica_page.c.page_id.in_(ids)))


def held_packs(tx: Connection, replica_id: str) -> Mapping[tuple[str, str], int]:
    """Sizes by project and pack."""
    query = select(pack.c.project_id, pack.c.id, pack.c.bytes).join(replica_pack, replica_pack.c.pack_id == pack.c.id)
    rows = tx.execute(query.where(replica_pack.c.replica_id == replica_id))
    return {(row.project_id, row.id): row.bytes for row in rows}


def held_pages(tx: Connection, replica_id: str) -> set[tuple[str, str]]:
    """Projects and pages."""
    query = select(replica_page.c.project_id, replica_page.c.page_id).where(replica_page.c.replica_id == replica_id)
    return {(row.project_id, row.page_id.hex()) for row in tx.execute(query)}


def held_commits(tx: Connection, replica_id: str) -> set[tuple[str, str]]:
    """Projects and commits."""
    query = select(dataset.c.project_id, commit.c.id).join(dataset, dataset.c.id == commit.c.dataset_id)
    query = query.join(replica_commit, replica_commit.c.commit_id == commit.c.id)
    return {(row.project_id, row.id) for row in tx.execute(query.where(replica_commit.c.replica_id == replica_id))}


def known_objects(tx: Connection, kind: str, project_id: str, ids: Collection[str]) -> set[str]:
    """Those of these ids that the lake has, or may have: of `packs`, `pages`, `locators`, `commits` or `datasets`."""
    if kind == "packs":
        return set(tx.scalars(select(pack.c.id).where(pack.c.id.in_(ids))))
    if kind == "commits":
        return set(tx.scalars(select(commit.c.id).where(commit.c.id.in_(ids))))
    if kind == "datasets":
        return set(tx.scalars(select(dataset.c.id).where(dataset.c.id.in_(ids))))
    digests = [bytes.fromhex(one) for one in ids]
    found: set[str] = set()
    for table in (page, promised_page):
        query = select(table.c.id).where(table.c.project_id == project_id, table.c.id.in_(digests))
        found.update(one.hex() for one in tx.scalars(query))
    return found
