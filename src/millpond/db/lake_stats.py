"""Sums over a project's commits, packs and blobs."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, Double, case, cast, func, select

from millpond.db.tables import blob, commit, dataset, pack
from millpond.model.dataset import PackState


@dataclass(frozen=True, slots=True)
class Stored:
    """Bytes: of all commits, of blobs as they are and as they are stored, of packs, of packs that nothing needs."""

    datasets: int
    commits: int
    logical: int
    raw: int
    stored: int
    packs: int
    packed: int
    condemned: int


def of_project(tx: Connection, project_id: str) -> Stored:
    """Datasets in the bin count: the lake still holds them."""
    commits = select(func.count(), func.coalesce(func.sum(cast(commit.c.bytes, Double)), 0)).select_from(
        commit.join(dataset, dataset.c.id == commit.c.dataset_id)
    )
    count, logical = tx.execute(commits.where(dataset.c.project_id == project_id)).one()
    sums = select(func.coalesce(func.sum(blob.c.raw), 0), func.coalesce(func.sum(blob.c.stored), 0))
    raw, stored = tx.execute(sums.where(blob.c.project_id == project_id)).one()
    is_going = pack.c.state.in_((PackState.CONDEMNED.value, PackState.DELETING.value))
    going = func.coalesce(func.sum(case((is_going, pack.c.bytes), else_=0)), 0)
    packs = select(func.count(), func.coalesce(func.sum(pack.c.bytes), 0), going)
    there = pack.c.state != PackState.PROMISED.value
    number, packed, condemned = tx.execute(packs.where(pack.c.project_id == project_id, there)).one()
    datasets = tx.execute(select(func.count()).where(dataset.c.project_id == project_id)).scalar_one()
    return Stored(datasets, count, int(logical), int(raw), int(stored), number, int(packed), int(condemned))
