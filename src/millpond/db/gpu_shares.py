"""How GPUs were shared over time: samples, in hundredths of a GPU."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from sqlalchemy import Connection, extract, select

from millpond.db.insert import insert_missing
from millpond.db.tables import gpu_share_sample, project


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
