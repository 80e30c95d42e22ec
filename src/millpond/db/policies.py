"""Policies that keep the newest commit of a branch cached on a volume."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, Select, and_, select

from millpond.db.tables import cache_policy, cached, dataset, project, ref, volume
from millpond.model.dataset import RefType
from millpond.model.volume import CachePolicy


@dataclass(frozen=True, slots=True)
class PolicyView:
    """A policy with its names, where its branch is now, and the state of that commit on the volume."""

    policy: CachePolicy
    project_id: str
    project: str
    dataset: str
    volume: str
    head: str | None
    state: str | None

    @property
    def written(self) -> str:
        return f"{self.project}/{self.dataset}@{self.policy.branch}"


def insert(tx: Connection, value: CachePolicy) -> None:
    """IntegrityError when the branch is kept there already."""
    tx.execute(cache_policy.insert().values(**asdict(value)))


def delete(tx: Connection, policy_id: str) -> None:
    tx.execute(cache_policy.delete().where(cache_policy.c.id == policy_id))


def note(tx: Connection, policy_id: str, *, commit_id: str, problem: str | None, now: datetime) -> None:
    """What became of the last attempt to have the branch's commit cached."""
    values = {"commit_id": commit_id, "problem": problem, "tried_at": now}
    tx.execute(cache_policy.update().where(cache_policy.c.id == policy_id).values(**values))


def get(tx: Connection, policy_id: str) -> PolicyView | None:
    row = tx.execute(_select().where(cache_policy.c.id == policy_id)).first()
    return _view(row) if row else None


def find(tx: Connection, volume_id: str, dataset_id: str, branch: str) -> PolicyView | None:
    mine = and_(
        cache_policy.c.volume_id == volume_id,
        cache_policy.c.dataset_id == dataset_id,
        cache_policy.c.branch == branch,
    )
    row = tx.execute(_select().where(mine)).first()
    return _view(row) if row else None


def page(
    tx: Connection,
    *,
    among: Collection[str] | None,
    limit: int | None = None,
    after: str = "",
    volume_id: str | None = None,
    dataset_id: str | None = None,
) -> Sequence[PolicyView]:
    """By id, behind `after`; of living datasets of projects whose id is `among`, None meaning all."""
    query = _select().where(cache_policy.c.id > after).order_by(cache_policy.c.id).limit(limit)
    if among is not None:
        query = query.where(dataset.c.project_id.in_(among))
    if volume_id is not None:
        query = query.where(cache_policy.c.volume_id == volume_id)
    if dataset_id is not None:
        query = query.where(cache_policy.c.dataset_id == dataset_id)
    return [_view(row) for row in tx.execute(query)]


def kept_on(tx: Connection, volume_id: str) -> Mapping[str, str]:
    """The commits that policies keep on a volume now, and the branch (the first by name) each is the newest of.

    Where a branch has just moved and nobody has asked for its new commit yet, the one before is kept, too.
    """
    query = (
        select(ref.c.commit_id.label("head"), cache_policy.c.commit_id.label("before"), cache_policy.c.branch)
        .join(ref, _head())
        .join(dataset, dataset.c.id == cache_policy.c.dataset_id)
        .where(cache_policy.c.volume_id == volume_id, dataset.c.deleted_at.is_(None))
        .order_by(cache_policy.c.branch.desc())
    )
    rows = tx.execute(query).all()
    before = {row.before: row.branch for row in rows if row.before is not None}
    return before | {row.head: row.branch for row in rows}


def _head() -> Any:
    return and_(
        ref.c.dataset_id == cache_policy.c.dataset_id,
        ref.c.name == cache_policy.c.branch,
        ref.c.type == RefType.BRANCH.value,
    )


def _select() -> Select[Any]:
    there = and_(cached.c.volume_id == cache_policy.c.volume_id, cached.c.commit_id == ref.c.commit_id)
    return (
        select(
            cache_policy,
            dataset.c.project_id.label("project_id"),
            project.c.name.label("project"),
            dataset.c.name.label("dataset"),
            volume.c.name.label("volume"),
            ref.c.commit_id.label("head"),
            cached.c.state.label("state"),
        )
        .join(dataset, dataset.c.id == cache_policy.c.dataset_id)
        .join(project, project.c.id == dataset.c.project_id)
        .join(volume, volume.c.id == cache_policy.c.volume_id)
        .outerjoin(ref, _head())
        .outerjoin(cached, there)
        .where(dataset.c.deleted_at.is_(None))
    )


def _view(row: Row[Any]) -> PolicyView:
    return PolicyView(
        policy=CachePolicy(
            id=row.id,
            volume_id=row.volume_id,
            dataset_id=row.dataset_id,
            branch=row.branch,
            created_by=row.created_by,
            created_at=row.created_at,
            commit_id=row.commit_id,
            problem=row.problem,
            tried_at=row.tried_at,
        ),
        project_id=row.project_id,
        project=row.project,
        dataset=row.dataset,
        volume=row.volume,
        head=row.head,
        state=row.state,
    )
