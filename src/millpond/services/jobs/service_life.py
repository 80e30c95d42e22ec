"""What jobs of kind service have in common, whoever asked for them: for whom they run, how they are stopped."""

from __future__ import annotations

from collections.abc import Iterable

from millpond.db import actors, users
from millpond.decide import job_life
from millpond.errors import Forbidden, NotFound
from millpond.model.job import Job, JobState
from millpond.model.people import SYSTEM, Actor, Project, Role
from millpond.services.deps import Deps
from millpond.services.jobs import job_changes
from millpond.services.jobs import jobs as job_service
from millpond.services.jobs.jobs import JobChange
from millpond.services.people import access


def actor_of(deps: Deps, user_id: str, project: Project, *, noun: str, hint: str) -> Actor:
    """The user that a service runs for, with the role they have now. Forbidden if they have none any more."""
    with deps.db.read() as tx:
        user = users.get(tx, user_id)
        actor = actors.of_user(tx, user) if user is not None and user.disabled_at is None else None
    if actor is None:
        raise Forbidden(f"The user that this {noun} runs as no longer exists or cannot sign in.", hint=hint)
    access.require(actor, project, Role.MEMBER)
    return actor


def stop(deps: Deps, project: Project, job_ids: Iterable[str], why: str) -> None:
    """Called again until they have ended: what was asked before is not asked twice."""
    stopped: list[Job] = []
    for job_id in job_ids:
        try:
            job, changed = job_service.change(deps, SYSTEM, project, job_id, _stopping(deps, why))
        except NotFound:
            continue
        stopped += [job] if changed else []
    job_changes.announce(deps, stopped)


def _stopping(deps: Deps, why: str) -> JobChange:
    now = deps.clock.now()

    def stopped(job: Job) -> Job:
        if job.status.state.is_finished or job.status.stop_requested_at is not None:
            return job
        job = job.changed(suspended_at=None)
        if job.status.state in (JobState.QUEUED, JobState.SUSPENDED):
            return job_life.cancel(job, why, now)
        return job_life.request_stop(job, why, now)

    return JobChange("job.stop", stopped)
