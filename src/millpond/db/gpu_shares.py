"""What projects hold, and how GPUs were shared over time: samples. In hundredths of a GPU."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from sqlalchemy import Connection, extract, func, select

from millpond.db.insert import insert_missing
from millpond.db.tables import gpu_share_sample, job, node, placement, project
from millpond.model.project_shares import POOL_LABEL

_HELD = (
    select(job.c.project_id, node.c.labels, func.sum(job.c.gpus).label("gpus"))
    .join(job, job.c.id == placement.c.job_id)
    .join(node, (node.c.compute_id == placement.c.compute_id) & (node.c.name == placement.c.node))
    .where(placement.c.ended_at.is_(None), job.c.gpus > 0)
    .group_by(job.c.project_id, node.c.compute_id, node.c.name)
)


@dataclass(frozen=True, slots=True)
class ShareSample:
    """What one project held and waited for in one pool at a moment."""

    at: datetime
    project_id: str
    project: str
    pool: str
    quota: int
    share: int
    allocated: int
    pending_gpus: int
    pending_jobs: int


def allocated(tx: Connection) -> Mapping[tuple[str, str], int]:
    """What jobs hold that have a placement, by project id and pool."""
    held: dict[tuple[str, str], int] = defaultdict(int)
    for row in tx.execute(_HELD):
        held[row.project_id, row.labels.get(POOL_LABEL, "")] += row.gpus
    return held


def add_samples(tx: Connection, values: Sequence[ShareSample]) -> None:
    """Those of a moment that was sampled already, by another server, are left as they are."""
    rows = [{key: value for key, value in asdict(one).items() if key != "project"} for one in values]
    if rows:
        insert_missing(tx, gpu_share_sample, rows)


def samples(
    tx: Connection, *, among: Collection[str] | None, since: datetime, until: datetime, step: int
) -> Sequence[ShareSample]:  # fmt: skip
    """Oldest first; with a step of an hour only those of full hours. `among`: project ids, None meaning all."""
    query = (
        select(gpu_share_sample, project.c.name.label("project"))
        .join(project, project.c.id == gpu_share_sample.c.project_id)
        .where(gpu_share_sample.c.at >= since, gpu_share_sample.c.at <= until)
        .order_by(gpu_share_sample.c.at, gpu_share_sample.c.pool, project.c.name)
    )
    if among is not None:
        query = query.where(gpu_share_sample.c.project_id.in_(among))
    if step > 60:
        query = query.where(extract("minute", gpu_share_sample.c.at) == 0)
    return [ShareSample(**row._mapping) for row in tx.execute(query)]


def forget_samples(tx: Connection, *, fine: datetime, coarse: datetime) -> None:
    """Remove samples before `coarse`, and those before `fine` that are not of a full hour."""
    at = gpu_share_sample.c.at
    tx.execute(gpu_share_sample.delete().where((at < coarse) | ((at < fine) & (extract("minute", at) != 0))))
