"""Queued jobs that may not be placed yet, because they come after others or wait for a retry, and overdue ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from logging import getLogger

from millpond.db import jobs
from millpond.decide import job_life
from millpond.decide.readiness import Never, Ready, Waits, readiness
from millpond.model.job import Ending, Job, JobState
from millpond.services.deps import Deps
from millpond.services.jobs import job_changes

logger = getLogger(__name__)

# The keeper ends a job that runs too long; how much later the server does, should the keeper not have managed to.
_LATER_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Queue:
    """What may be placed now, in order, and why the rest waits, by job id."""

    ready: Sequence[Job]
    waits: Mapping[str, tuple[str, ...]]


def look_at_queue(deps: Deps, now: datetime) -> Queue:
    """Decide about every queued job. One that can never begin is ended, and so are those that come after it."""
    while True:
        with deps.db.read() as tx:
            queued = jobs.queued(tx)
            others = jobs.by_ids(tx, {one.job for job in queued for one in job.spec.after})
        answers = {job.id: readiness(job, others, now) for job in queued}
        never = {job_id: answer for job_id, answer in answers.items() if isinstance(answer, Never)}
        if not never:
            return Queue(
                ready=[job for job in queued if isinstance(answers[job.id], Ready)],
                waits={job_id: (answer.reason,) for job_id, answer in answers.items() if isinstance(answer, Waits)},
            )
        _cancel(deps, never, now)


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


def _cancel(deps: Deps, never: Mapping[str, Never], now: datetime) -> None:
    changed: list[Job] = []
    for job_id, answer in sorted(never.items()):
        with deps.db.write() as tx:
            job = jobs.lock(tx, job_id)
            if job is not None and job.status.state is JobState.QUEUED:
                after = job_life.cancel(job, answer.reason, now)
                changed += [after] if job_changes.save(tx, job, after, now) else []
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
