"""What happened to a job, as spans of the trace in which it was submitted. Told when it starts and when it ends."""

from __future__ import annotations

from datetime import datetime

from millpond import tracing
from millpond.model.job import Job


def started(job: Job) -> None:
    """Where the time to its start went: queue, fill, and what came before its command."""
    status = job.status
    _record("job.queue", job, status.requeued_at or job.queued_at, status.placed_at)
    _record("job.fill", job, status.placed_at, status.filled_at)
    _record("job.prepare", job, status.filled_at or status.placed_at, status.started_at)


def ended(job: Job) -> None:
    _record("job.run", job, job.status.started_at, job.status.exited_at or job.status.ended_at)
    _record("job.save", job, job.status.exited_at, job.status.ended_at)


def _record(name: str, job: Job, begin: datetime | None, end: datetime | None) -> None:
    if job.trace is None or begin is None or end is None:
        return
    tracing.record(
        name, begin.timestamp(), end.timestamp(), parent=job.trace, millpond__job__id=job.id,
        millpond__project__id=job.project_id, millpond__job__attempt=job.status.attempt,
        millpond__job__state=job.status.state.value,
    )  # fmt: skip
