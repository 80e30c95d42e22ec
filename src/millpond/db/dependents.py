"""What depends on data: the jobs that have not ended and read it."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, select

from millpond.db.tables import job, project


def jobs_using_dataset(tx: Connection, dataset_id: str) -> Sequence[str]:
    """`project/name` of the jobs that have not ended and have this dataset among their inputs."""
    query = (
        select(job.c.name, project.c.name.label("project"), job.c.inputs)
        .join(project, project.c.id == job.c.project_id)
        .where(job.c.ended_at.is_(None))
        .order_by(project.c.name, job.c.name)
    )
    rows = tx.execute(query)
    return [f"{row.project}/{row.name}" for row in rows if any(i["dataset_id"] == dataset_id for i in row.inputs)]
