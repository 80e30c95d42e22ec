"""Jobs that have to end: those that can never begin, and those that run longer than they may."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from logging import getLogger

from millpond.db import jobs
from millpond.decide import job_life
from millpond.model.job import Ending, Job, JobState
from millpond.services.deps import Deps
from millpond.services.jobs import job_changes

logger = getLogger(__name__)

# The keeper ends a job that runs too long; how much later the server does, should the keeper not have managed to.
_LATER_SECONDS = 30


def cancel(deps: Deps, never: Mapping[str, str], now: datetime) -> None:
    """End queued jobs that can never begin: why, by id."""
    changed: list[Job] = []
    for job_id, reason in sorted(never.items()):
        with deps.db.write() as tx:
            job = jobs.lock(tx, job_id)
            if job is not None and job.status.state is JobState.QUEUED:
                after = job_life.cancel(job, reason, now)
                changed += [after] if job_changes.save(tx, job, after, now) else []
    job_changes.announce(deps, changed)


def fail(deps: Deps, problems: Mapping[str, str], now: datetime) -> None:
    """End queued jobs that cannot be run: why, by id."""
    changed: list[Job] = []
    for job_id, problem in sorted(problems.items()):
        with deps.db.write() as tx:
            job = jobs.lock(tx, job_id)
            if job is not None and job.status.state is JobState.QUEUED:
                after = job_life.fail(job, problem, now)
                changed += [after] if job_changes.save(tx, job, after, now) else []
    job_changes.announce(deps, changed)


def stop_overdue(deps: Deps, now: datetime) -> None:
    """Ask for the end of jobs that have run longer than they may, and that their keepers have not ended."""
    with deps.db.read() as tx:
        found = [job for job in jobs.with_time_limit(tx) if _may_be_overdue(job)]
    ran = deps.unchanged.seconds("time limit", {job.id: job.status.started_at for job in found}, deps.clock.elapsed())
    overdue = [job for job in found if ran[job.id] > _longest(job)]
    changed: list[Job] = []
    for seen in overdue:
        with deps.db.write() as tx:
            job = jobs.lock(tx, seen.id)
            if job is not None and job.status.started_at == seen.status.started_at and _may_be_overdue(job):
                after = job_life.request_stop(job, "It runs longer than it may.", now, Ending.TIMEOUT)
                changed += [after] if job_changes.save(tx, job, after, now) else []
                logger.info("job_overdue job=%s", job.id)
    job_changes.announce(deps, changed)


def _longest(job: Job) -> int:
    return job.spec.timeout_seconds + job.spec.grace_seconds + _LATER_SECONDS


def _may_be_overdue(job: Job) -> bool:
    return bool(
        job.spec.timeout_seconds
        and job.status.started_at
        and not job.status.exited_at
        and not job.status.stop_requested_at
    )
