"""What a collection looks at, part by part: commits with what names them, pages, packs, uploads."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, and_, exists, func, or_, select

from millpond.db import lineage
from millpond.db.batches import batches
from millpond.db.tables import (
    cached,
    commit,
    dataset,
    job,
    pack,
    page,
    page_pack,
    project,
    record,
    ref,
    upload,
    volume,
    workspace,
)
from millpond.decide.collection import PackSeen
from millpond.decide.retention import CommitSeen, RefSeen
from millpond.model.dataset import PackState, RefType

_COMMIT = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class DatasetSeen:
    id: str
    name: str
    deleted_at: datetime | None
    retention: Mapping[str, Any] | None
    # Raised by every change of a ref: what was decided holds as long as it is the same.
    next_record: int


@dataclass(frozen=True, slots=True)
class CommitRow:
    commit: CommitSeen
    tree: str
    set_aside_at: datetime | None


# Commits ---------------------------------------------------------------------------------------------


def datasets_of(tx: Connection, project_id: str) -> Sequence[DatasetSeen]:
    """All datasets of a project, those in the bin too, by name."""
    query = select(dataset).where(dataset.c.project_id == project_id).order_by(dataset.c.name, dataset.c.id)
    return [DatasetSeen(r.id, r.name, r.deleted_at, r.retention, r.next_record) for r in tx.execute(query)]


def commits_of(tx: Connection, dataset_id: str) -> Sequence[CommitRow]:
    columns = (commit.c.id, commit.c.parents, commit.c.time, commit.c.tree, commit.c.set_aside_at)
    query = select(*columns).where(commit.c.dataset_id == dataset_id).order_by(commit.c.id)
    return [
        CommitRow(CommitSeen(row.id, tuple(row.parents), row.time), row.tree, row.set_aside_at)
        for row in tx.execute(query)
    ]


def refs_of(tx: Connection, dataset_id: str) -> Sequence[RefSeen]:
    rows = tx.execute(select(ref).where(ref.c.dataset_id == dataset_id).order_by(ref.c.name))
    return [RefSeen(row.name, RefType(row.type), row.commit_id) for row in rows]


def named_in_lineage(tx: Connection, project_id: str) -> Mapping[str, str]:
    """Commits of a project that others, in any project, were made from."""
    made = lineage.made_from(tx, project_id)
    return {commit_id: f"commit {made_id[:8]} was made from it" for commit_id, made_id in made.items()}


def named_by_others(tx: Connection, dataset_id: str) -> Mapping[str, str]:
    """Commits of a dataset that jobs, records on their way to the lake, and pins of caches name.

    A lease names nothing: what somebody reads or holds when it is let go is let go, and leaves its volume after them.
    """
    found: dict[str, str] = {}
    on = select(cached.c.commit_id, volume.c.name).join(volume, volume.c.id == cached.c.volume_id)
    for commit_id, name in tx.execute(on.where(cached.c.dataset_id == dataset_id, cached.c.pinned)):
        found.setdefault(commit_id, f"pinned on {name}")
    for commit_id, job_name in lineage.jobs_naming(tx, dataset_id).items():
        found.setdefault(commit_id, f"job {job_name}")
    made = select(workspace.c.source_commit, workspace.c.name).join(commit, commit.c.id == workspace.c.source_commit)
    for commit_id, name in tx.execute(made.where(commit.c.dataset_id == dataset_id)):
        found.setdefault(commit_id, f"workspace {name} is being made from it")
    for body in tx.scalars(select(record.c.body).where(record.c.dataset_id == dataset_id)):
        for commit_id in _COMMIT.findall(body):
            found.setdefault(commit_id, "a ref is just moving there")
    return found


def set_aside(tx: Connection, commit_ids: Collection[str], at: datetime | None) -> None:
    """Since when nothing names them; None: something does."""
    for batch in batches(commit_ids):
        tx.execute(commit.update().where(commit.c.id.in_(batch)).values(set_aside_at=at))


def delete_commits(tx: Connection, commit_ids: Collection[str]) -> None:
    """With how they were made."""
    for batch in batches(commit_ids):
        tx.execute(commit.delete().where(commit.c.id.in_(batch)))
    lineage.forget_commits(tx, commit_ids)


def delete_dataset(tx: Connection, dataset_id: str) -> None:
    """With its commits and refs. IntegrityError while a cache or a job names one of them."""
    tx.execute(ref.delete().where(ref.c.dataset_id == dataset_id))
    lineage.forget_dataset(tx, dataset_id)
    tx.execute(commit.delete().where(commit.c.dataset_id == dataset_id))
    tx.execute(dataset.delete().where(dataset.c.id == dataset_id))


def is_held(tx: Connection, dataset_id: str) -> bool:
    """Whether a cache has one of its commits, or a job one of them as its code or output."""
    own = select(commit.c.id).where(commit.c.dataset_id == dataset_id)
    by_job = select(job.c.id).where(or_(job.c.code_commit.in_(own), job.c.output_commit.in_(own))).limit(1)
    return bool(cached_ids(tx, dataset_id)) or tx.execute(by_job).first() is not None


def cached_ids(tx: Connection, dataset_id: str) -> set[str]:
    """Commits of a dataset that lie on volumes, or are on their way there or from there."""
    return set(tx.scalars(select(cached.c.commit_id).where(cached.c.dataset_id == dataset_id).distinct()))


# Pages and packs -------------------------------------------------------------------------------------


def pages(
    tx: Connection, project_id: str, *, leaves: bool, limit: int, after: bytes = b""
) -> Sequence[tuple[bytes, int]]:
    """Ids and levels of a project's leaves, or of its other pages, by id and behind `after`."""
    level = page.c.level == 0 if leaves else page.c.level > 0
    query = select(page.c.id, page.c.level).where(page.c.project_id == project_id, level, page.c.id > after)
    return [(row.id, row.level) for row in tx.execute(query.order_by(page.c.id).limit(limit))]


def packs(
    tx: Connection, project_id: str, *, limit: int, after: str = "", only: Collection[str] | None = None
) -> Sequence[PackSeen]:
    """A project's packs by id, without marks."""
    used = func.coalesce(upload.c.used_at, pack.c.promised_at, type_=upload.c.used_at.type).label("used_at")
    query = select(pack, used).outerjoin(upload, upload.c.id == pack.c.upload_id)
    query = query.where(pack.c.project_id == project_id, pack.c.id > after)
    if only is not None:
        query = query.where(pack.c.id.in_(only))
    return [
        PackSeen(
            id=row.id,
            state=PackState(row.state),
            bytes=row.bytes,
            promised_at=row.promised_at,
            used_at=row.used_at,
            problem=row.problem,
        )
        for row in tx.execute(query.order_by(pack.c.id).limit(limit))
    ]


def pages_of_packs(tx: Connection, pack_ids: Collection[str]) -> Mapping[str, Sequence[bytes]]:
    """The leaves that need each of these packs."""
    found: dict[str, list[bytes]] = defaultdict(list)
    query = select(page_pack.c.pack_id, page_pack.c.page_id).where(page_pack.c.pack_id.in_(pack_ids))
    for row in tx.execute(query):
        found[row.pack_id].append(row.page_id)
    return found


def set_state(
    tx: Connection, pack_ids: Collection[str], *, among: Collection[PackState], to: PackState, now: datetime
) -> None:
    """For those that are in one of these states and that no page needs."""
    unneeded = ~exists().where(page_pack.c.pack_id == pack.c.id)
    key = and_(pack.c.id.in_(pack_ids), pack.c.state.in_([state.value for state in among]), unneeded)
    condemned = func.coalesce(pack.c.condemned_at, now, type_=pack.c.condemned_at.type)
    tx.execute(pack.update().where(key).values(state=to.value, condemned_at=condemned))


def deleting(tx: Connection, *, limit: int, besides: Collection[str] = ()) -> Sequence[tuple[str, str]]:
    """Packs that are being removed: project and pack; not those of the projects `besides`."""
    query = select(pack.c.project_id, pack.c.id).where(pack.c.state == PackState.DELETING.value)
    if besides:
        query = query.where(pack.c.project_id.not_in(besides))
    return [(row.project_id, row.id) for row in tx.execute(query.order_by(pack.c.id).limit(limit))]


def delete_packs(tx: Connection, pack_ids: Collection[str]) -> None:
    """With all that is known of their blobs."""
    tx.execute(pack.delete().where(pack.c.id.in_(pack_ids)))


def delete_uploads(tx: Connection, *, before: datetime) -> int:
    """Uploads not used since; their packs stay, as nobody's."""
    old = select(upload.c.id).where(upload.c.used_at < before)
    tx.execute(pack.update().where(pack.c.upload_id.in_(old)).values(upload_id=None))
    return tx.execute(upload.delete().where(upload.c.used_at < before)).rowcount


def project_ids(tx: Connection) -> Iterator[tuple[str, str]]:
    for row in tx.execute(select(project.c.id, project.c.name).order_by(project.c.name)):
        yield row.id, row.name
