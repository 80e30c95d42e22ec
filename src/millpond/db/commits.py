"""Commits and the refs that name them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, select, tuple_

from millpond.db import lineage
from millpond.db.tables import commit, dataset, ref
from millpond.decide.lineage import edges_of_commit
from millpond.model.dataset import Commit, Ref, RefType


def insert(tx: Connection, value: Commit) -> None:
    """With its edges of lineage. Inserting a commit twice changes nothing: its id is the digest of all of it."""
    if get(tx, value.id) is None:
        tx.execute(
            commit.insert().values(
                id=value.id,
                dataset_id=value.dataset_id,
                tree=value.tree,
                parents=list(value.parents),
                author=value.author,
                time=value.time,
                message=value.message,
                files=value.files,
                bytes=value.bytes,
                lineage=dict(value.lineage),
            )
        )
        lineage.add(tx, edges_of_commit(value))


def get(tx: Connection, commit_id: str) -> Commit | None:
    row = tx.execute(select(commit).where(commit.c.id == commit_id)).first()
    return _commit(row) if row else None


def get_many(tx: Connection, commit_ids: Collection[str]) -> Sequence[Commit]:
    return [_commit(row) for row in tx.execute(select(commit).where(commit.c.id.in_(commit_ids)))]


def readable(tx: Connection, commit_ids: Collection[str], *, among: Collection[str] | None) -> frozenset[str]:
    """Those of these commits that exist, in datasets that are not in the bin, of projects `among`; None for all."""
    query = select(commit.c.id).join(dataset, dataset.c.id == commit.c.dataset_id)
    query = query.where(commit.c.id.in_(commit_ids), dataset.c.deleted_at.is_(None))
    if among is not None:
        query = query.where(dataset.c.project_id.in_(among))
    return frozenset(tx.scalars(query))


def in_bin(tx: Connection, commit_ids: Collection[str], *, among: Collection[str] | None) -> frozenset[str]:
    """Those of these commits whose dataset is in the bin, as far as it is of projects `among`; None for all."""
    query = select(commit.c.id).join(dataset, dataset.c.id == commit.c.dataset_id)
    query = query.where(commit.c.id.in_(commit_ids), dataset.c.deleted_at.is_not(None))
    if among is not None:
        query = query.where(dataset.c.project_id.in_(among))
    return frozenset(tx.scalars(query))


def by_prefix(tx: Connection, dataset_id: str, prefix: str, *, limit: int) -> Sequence[Commit]:
    """Commits of a dataset whose id begins with these lower-case hex digits."""
    # `g` sorts behind every hex digit, so this range is the prefix, and the index serves it.
    query = select(commit).where(commit.c.dataset_id == dataset_id, commit.c.id >= prefix, commit.c.id < prefix + "g")
    return [_commit(row) for row in tx.execute(query.order_by(commit.c.id).limit(limit))]


def page(
    tx: Connection, dataset_id: str, *, limit: int, before: tuple[datetime, str] | None = None
) -> Sequence[Commit]:
    """All commits of a dataset that something names, newest first, behind the one of that moment with that id."""
    query = select(commit).where(commit.c.dataset_id == dataset_id, commit.c.set_aside_at.is_(None))
    if before is not None:
        query = query.where(tuple_(commit.c.time, commit.c.id) < tuple_(*before))
    query = query.order_by(commit.c.time.desc(), commit.c.id.desc()).limit(limit)
    return [_commit(row) for row in tx.execute(query)]


def find_ref(tx: Connection, dataset_id: str, name: str) -> Ref | None:
    row = tx.execute(select(ref).where(ref.c.dataset_id == dataset_id, ref.c.name == name)).first()
    return _ref(row) if row else None


def refs(tx: Connection, dataset_id: str, *, limit: int, after: str = "") -> Sequence[Ref]:
    """At most `limit` refs by name, behind the name `after`."""
    query = select(ref).where(ref.c.dataset_id == dataset_id, ref.c.name > after).order_by(ref.c.name).limit(limit)
    return [_ref(row) for row in tx.execute(query)]


def refs_below(tx: Connection, dataset_id: str, prefix: str) -> Sequence[Ref]:
    """Refs whose names begin so, by name."""
    query = select(ref).where(ref.c.dataset_id == dataset_id, ref.c.name.startswith(prefix, autoescape=True))
    return [_ref(row) for row in tx.execute(query.order_by(ref.c.name))]


def ref_names(tx: Connection, commit_ids: Collection[str]) -> Mapping[str, Sequence[str]]:
    """Names of the refs at each of these commits."""
    found: dict[str, list[str]] = defaultdict(list)
    query = select(ref.c.commit_id, ref.c.name).where(ref.c.commit_id.in_(commit_ids)).order_by(ref.c.name)
    for row in tx.execute(query):
        found[row.commit_id].append(row.name)
    return found


def set_ref(tx: Connection, value: Ref) -> None:
    key = (ref.c.dataset_id == value.dataset_id) & (ref.c.name == value.name)
    values = {"type": value.type.value, "commit_id": value.commit_id, "moved_at": value.moved_at}
    if not tx.execute(ref.update().where(key).values(**values)).rowcount:
        tx.execute(ref.insert().values(dataset_id=value.dataset_id, name=value.name, **values))


def delete_ref(tx: Connection, dataset_id: str, name: str) -> None:
    tx.execute(ref.delete().where(ref.c.dataset_id == dataset_id, ref.c.name == name))


def newest_time(tx: Connection, dataset_id: str) -> datetime | None:
    query = select(commit.c.time).where(commit.c.dataset_id == dataset_id).order_by(commit.c.time.desc()).limit(1)
    return tx.scalars(query).first()


def _commit(row: Row[Any]) -> Commit:
    return Commit(
        id=row.id,
        dataset_id=row.dataset_id,
        tree=row.tree,
        parents=tuple(row.parents),
        author=row.author,
        time=row.time,
        message=row.message,
        files=row.files,
        bytes=row.bytes,
        lineage=row.lineage,
    )


def _ref(row: Row[Any]) -> Ref:
    return Ref(row.dataset_id, row.name, RefType(row.type), row.commit_id, row.moved_at)
