"""Idle interactive jobs: records use, and stops jobs that were unused for too long."""

from __future__ import annotations

from datetime import datetime, timedelta

from millpond.db import jobs
from millpond.decide import job_life
from millpond.decide.idle import idle_too_long
from millpond.model.job import Job
from millpond.model.people import SYSTEM
from millpond.model.quantity import format_seconds
from millpond.services.deps import Deps
from millpond.services.jobs import job_changes
from millpond.services.people import audit

# Use is noted at most this often; idle times are minutes and hours.
NOTE = timedelta(seconds=20)


def note_use(deps: Deps, job: Job) -> None:
    """Record that a terminal or port of the job is open."""
    now = deps.clock.now()
    if not job.spec.idle_seconds or (job.status.used_at is not None and abs(now - job.status.used_at) < NOTE):
        return
    with deps.db.write() as tx:
        jobs.note_use(tx, job.id, now)


def stop_idle(deps: Deps, now: datetime) -> int:
    """Stop jobs whose idle time is over; return how many."""
    with deps.db.read() as tx:
        watched = jobs.with_idle_time(tx)
    unused = deps.unchanged.seconds("use", {job.id: _used(job) for job in watched}, deps.clock.elapsed())
    found = [job for job in watched if idle_too_long(job, unused[job.id])]
    changed = []
    for job in found:
        with deps.db.write() as tx:
            before = jobs.lock(tx, job.id)
            if before is None or _used(before) != _used(job) or not idle_too_long(before, unused[job.id]):
                continue
            reason = f"Stopped after {format_seconds(before.spec.idle_seconds)} without use."
            after = job_life.request_stop(before, reason, now)
            if job_changes.save(tx, before, after, now):
                changed.append(after)
                audit.record(
                    tx, now=now, actor=SYSTEM, action="job.stop", subject=f"{job.project}/{job.name}",
                    project_id=job.project_id, details={"job": job.id, "idle": True},
                )  # fmt: skip
    job_changes.announce(deps, changed)
    return len(changed)


def _used(job: Job) -> tuple[datetime | None, ...]:
    """A value that changes with every use, and when the job starts to run."""
    return job.queued_at, job.status.started_at, job.status.used_at
