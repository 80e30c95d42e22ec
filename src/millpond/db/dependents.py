"""What depends on something: on data the jobs that have not ended and read it, on a user what works in their name."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, select

from millpond.db.leases import Holder
from millpond.db.tables import job, project, run, source
from millpond.model.job_spec import JobSpec
from millpond.model.people import User
from millpond.model.run import RunState


def jobs_using_dataset(tx: Connection, dataset_id: str) -> Sequence[Holder]:
    """The jobs that have not ended and have this dataset among their inputs, leased yet or not."""
    query = (
        select(job.c.name, job.c.project_id, job.c.queued_at, job.c.spec, project.c.name.label("project"))
        .join(project, project.c.id == job.c.project_id)
        .where(job.c.ended_at.is_(None))
        .order_by(project.c.name, job.c.name)
    )
    return [
        Holder(project_id=row.project_id, job=f"{row.project}/{row.name}", user=None, since=row.queued_at, until=None)
        for row in tx.execute(query)
        if any(item.dataset_id == dataset_id for item in JobSpec.from_document(row.spec).inputs)
    ]


def work_of_user(tx: Connection, user: User) -> Sequence[str]:
    """What still works in the user's name, as people write it: jobs, runs outside jobs, sources."""
    living_jobs = select(job.c.name, project.c.name.label("project")).where(
        job.c.created_by == user.name, job.c.ended_at.is_(None)
    )
    living_runs = select(run.c.name, project.c.name.label("project")).where(
        run.c.created_by == user.name, run.c.job_id.is_(None), run.c.state == RunState.RUNNING.value
    )
    sources = select(source.c.name, project.c.name.label("project")).where(source.c.user_id == user.id)
    found = []
    for noun, table, query in (("job", job, living_jobs), ("run", run, living_runs), ("source", source, sources)):
        joined = query.join(project, project.c.id == table.c.project_id).order_by(project.c.name, table.c.name)
        found += [f"{noun} {row.project}/{row.name}" for row in tx.execute(joined)]
    return found
