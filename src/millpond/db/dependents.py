"""What depends on data: the jobs that have not ended and read it."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, select

from millpond.db.leases import Holder
from millpond.db.tables import job, project


def jobs_using_dataset(tx: Connection, dataset_id: str) -> Sequence[Holder]:
    """The jobs that have not ended and have this dataset among their inputs, leased yet or not."""
    query = (
        select(job.c.name, job.c.project_id, job.c.queued_at, job.c.inputs, project.c.name.label("project"))
        .join(project, project.c.id == job.c.project_id)
        .where(job.c.ended_at.is_(None))
        .order_by(project.c.name, job.c.name)
    )
    return [
        Holder(project_id=row.project_id, job=f"{row.project}/{row.name}", user=None, since=row.queued_at, until=None)
        for row in tx.execute(query)
        if any(entry["dataset_id"] == dataset_id for entry in row.inputs)
    ]
