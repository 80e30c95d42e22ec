"""Stops the jobs of replicas and routers that are not needed any more."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from millpond.decide import job_life
from millpond.errors import NotFound
from millpond.model.job import Job, JobState
from millpond.model.people import SYSTEM, Project
from millpond.model.replica import Replica, ReplicaState
from millpond.services.deps import Deps
from millpond.services.jobs import job_changes
from millpond.services.jobs import jobs as job_service
from millpond.services.jobs.jobs import JobChange


def stop_drained(deps: Deps, project: Project, seen: Sequence[Replica], before: datetime) -> None:
    """Stop replicas that drain since before this moment, and at once those that no router knows."""
    going = [one for one in seen if one.state is ReplicaState.DRAINING and one.draining_at is not None]
    due = [one for one in going if not one.ready or (one.draining_at is not None and one.draining_at <= before)]
    stop(deps, project, (one.job_id for one in due), "No longer needed by its endpoint.")


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
