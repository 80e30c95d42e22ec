"""What trees have that others have not, compared before: admission reads it inside a transaction."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from sqlalchemy import Connection, and_, exists, select

from millpond.db.insert import insert_missing
from millpond.db.tables import cached, commit, dataset, ref, tree_difference
from millpond.decide.fill_bases import BaseCandidate
from millpond.model.cached_state import CachedState
from millpond.model.dataset import RefType

# How far back the history of a commit is searched for one that is cached.
_GENERATIONS = 100


@dataclass(frozen=True, slots=True)
class Difference:
    """What filling `tree` beside `base` allocates and fetches: files that the base does not have, and directories."""

    project_id: str
    base: str
    tree: str
    allocated: int
    inodes: int
    bytes: int
    files: int


def find(tx: Connection, project_id: str, base: str, tree: str) -> Difference | None:
    same = and_(
        tree_difference.c.project_id == project_id, tree_difference.c.base == base, tree_difference.c.tree == tree
    )
    row = tx.execute(select(tree_difference).where(same)).first()
    if row is None:
        return None
    return Difference(row.project_id, row.base, row.tree, row.allocated, row.inodes, row.bytes, row.files)


def insert(tx: Connection, value: Difference, now: datetime) -> None:
    """Whoever compared the same trees meanwhile has found the same."""
    insert_missing(tx, tree_difference, [asdict(value) | {"at": now}])


def forget(tx: Connection, *, before: datetime) -> None:
    tx.execute(tree_difference.delete().where(tree_difference.c.at < before))


def candidates(
    tx: Connection, *, project_id: str, besides: str, volume_id: str | None = None
) -> Sequence[BaseCandidate]:
    """Whole cached commits of a project (on one volume) besides one commit; by volume as they come."""
    query = (
        select(cached, commit.c.tree)
        .join(commit, commit.c.id == cached.c.commit_id)
        .join(dataset, dataset.c.id == cached.c.dataset_id)
        .where(
            cached.c.project_id == project_id,
            cached.c.state == CachedState.READY.value,
            cached.c.commit_id != besides,
            cached.c.ready_at.is_not(None),
            dataset.c.deleted_at.is_(None),
        )
    )
    if volume_id is not None:
        query = query.where(cached.c.volume_id == volume_id)
    return [
        BaseCandidate(row.id, row.commit_id, row.dataset_id, row.tree, row.ready_at, row.volume_id)
        for row in tx.execute(query.order_by(cached.c.id))
    ]


def new_heads(tx: Connection, *, since: datetime) -> Sequence[str]:
    """Commits that branches came to since then, not cached yet, of datasets of which another commit is."""
    other, same = cached.alias(), cached.alias()
    query = select(ref.c.commit_id).where(
        ref.c.type == RefType.BRANCH.value,
        ref.c.moved_at > since,
        exists().where(other.c.dataset_id == ref.c.dataset_id, other.c.state == CachedState.READY.value),
        ~exists().where(same.c.commit_id == ref.c.commit_id),
    )
    return tx.scalars(query.distinct().order_by(ref.c.commit_id)).all()


def nearest(tx: Connection, commit_id: str, among: Collection[str]) -> list[str]:
    """Those of these commits that it has grown from and that come first on the way back; often one, or none."""
    seen, generation = {commit_id}, [commit_id]
    for _ in range(_GENERATIONS):
        generation = sorted(set(_parents(tx, generation)) - seen)
        seen.update(generation)
        found = [parent for parent in generation if parent in among]
        if found or not generation:
            return found
    return []


def _parents(tx: Connection, commit_ids: Sequence[str]) -> Iterator[str]:
    query = select(commit.c.parents).where(commit.c.id.in_(commit_ids)).order_by(commit.c.id)
    for parents in tx.scalars(query):
        yield from parents
