"""The branches whose newest commit is on a volume: names for people that lead to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, and_, select

from millpond.db.tables import cached, dataset, project, ref
from millpond.model.cached_state import CachedState
from millpond.model.dataset import RefType


@dataclass(frozen=True, slots=True)
class BranchPointer:
    project: str
    dataset: str
    branch: str
    project_id: str
    dataset_id: str
    commit_id: str


def on_volume(tx: Connection, volume_id: str) -> Sequence[BranchPointer]:
    """Every branch whose commit is ready there, by names."""
    query = (
        select(
            project.c.name.label("project"),
            dataset.c.name.label("dataset"),
            ref.c.name.label("branch"),
            cached.c.project_id,
            cached.c.dataset_id,
            cached.c.commit_id,
        )
        .join(dataset, dataset.c.id == cached.c.dataset_id)
        .join(project, project.c.id == cached.c.project_id)
        .join(ref, and_(ref.c.dataset_id == cached.c.dataset_id, ref.c.commit_id == cached.c.commit_id))
        .where(
            cached.c.volume_id == volume_id,
            cached.c.state == CachedState.READY.value,
            ref.c.type == RefType.BRANCH.value,
            dataset.c.deleted_at.is_(None),
        )
        .order_by(project.c.name, dataset.c.name, ref.c.name)
    )
    return [
        BranchPointer(row.project, row.dataset, row.branch, row.project_id, row.dataset_id, row.commit_id)
        for row in tx.execute(query)
    ]
