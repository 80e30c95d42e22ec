"""What projects hold and wait for, in hundredths of a GPU."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from millpond.db.tables import job, node, placement
from millpond.model.job import JobState
from millpond.model.project_shares import POOL_LABEL

_HELD = (
    select(job.c.project_id, node.c.labels, func.sum(job.c.gpus).label("gpus"))
    .join(job, job.c.id == placement.c.job_id)
    .join(node, (node.c.compute_id == placement.c.compute_id) & (node.c.name == placement.c.node))
    .where(placement.c.ended_at.is_(None), job.c.gpus > 0)
    .group_by(job.c.project_id, node.c.compute_id, node.c.name)
)
_WAITING = (
    select(job.c.project_id, func.count().label("jobs"), func.sum(job.c.gpus).label("gpus"))
    .where(job.c.state == JobState.QUEUED.value)
    .group_by(job.c.project_id)
)


@dataclass(frozen=True, slots=True)
class Queued:
    """What waits of a project."""

    jobs: int = 0
    gpus: int = 0


def allocated(tx: Connection) -> Mapping[tuple[str, str], int]:
    """What jobs hold that have a placement, by project id and pool."""
    held: dict[tuple[str, str], int] = defaultdict(int)
    for row in tx.execute(_HELD):
        held[row.project_id, row.labels.get(POOL_LABEL, "")] += row.gpus
    return held


def queued(tx: Connection) -> Mapping[str, Queued]:
    """By project id; projects without queued jobs are left out."""
    return {row.project_id: Queued(row.jobs, row.gpus) for row in tx.execute(_WAITING)}
