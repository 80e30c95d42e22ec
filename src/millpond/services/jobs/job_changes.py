"""Saves a changed job with its consequences (placement, leases, run), and announces the change afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection

from millpond.db import job_events, jobs, notices, placements, runs, workspaces
from millpond.decide.notifications.notices import of_job
from millpond.model.job import Job, JobState, StateChange
from millpond.model.run import RunState
from millpond.services.caches import job_caches
from millpond.services.computes.agent_topics import AGENTS, agents_of
from millpond.services.deps import Deps
from millpond.services.notifications.topics import NOTICES

_RUN_STATES = {
    JobState.SUCCEEDED: RunState.SUCCEEDED,
    JobState.FAILED: RunState.FAILED,
    JobState.CANCELLED: RunState.CANCELLED,
}


def save(tx: Connection, before: Job, after: Job, now: datetime, *, by: str | None = None) -> bool:
    """Write `after` over `before`, which this transaction has locked; whether anything changed.

    A job that ends, or goes back to the queue, ends its placement and its leases with it; its run ends as it does.
    `by` is who or what changed its state: a user's name, or the id of the job that it makes room for.
    """
    if after == before:
        return False
    if after.spec == before.spec:
        jobs.save(tx, after)
    else:
        jobs.save_spec(tx, after)
    if after.status.state is not before.status.state:
        job_events.insert(tx, _state_change(before, after, now, by))
        if (notice := of_job(before, after, now)) is not None:
            notices.insert(tx, notice)
    left = after.status.state.is_finished or after.status.placement_id != before.status.placement_id
    if before.status.placement_id is not None and left:
        placements.end(tx, [before.status.placement_id], now)
        job_caches.release_for_job(tx, after.id, now=now)
        if after.spec.workspaces:
            workspaces.ask_measure(tx, [one.id for one in after.spec.workspaces])
    if after.status.state.is_finished and not before.status.state.is_finished:
        runs.end(tx, after.run_id, _RUN_STATES[after.status.state], after.status.ended_at or now)
    return True


def note_submitted(tx: Connection, *submitted: Job) -> None:
    """The first change of the state of each."""
    changes = [StateChange(job.id, job.queued_at, None, job.status.state, by=job.created_by) for job in submitted]
    job_events.insert(tx, *changes)


def announce(deps: Deps, changed: Sequence[Job]) -> None:
    """Call after the transaction. Counts, notifies open pages, and wakes agents and the scheduler."""
    deps.measures.jobs_changed(changed, deps.clock.now())
    for job in changed:
        publish(deps, job)
        if job.status.state.is_finished:
            data = {"project": job.project, "id": job.run_id, "what": "ended", "state": job.status.state.value}
            deps.events.publish(f"run:{job.run_id}", project_id=job.project_id, data=data)
            data = {"project": job.project, "id": job.id, "what": "complete"}
            deps.events.publish(f"log:{job.id}", project_id=job.project_id, data=data)
    _wake_agents(deps, changed)
    if any(job.status.state.is_finished or job.status.state is JobState.QUEUED for job in changed):
        deps.events.wake("schedule")
    if any(job.status.state.is_finished for job in changed):
        deps.events.wake("searches")
        deps.events.wake(NOTICES)
    if any(job.status.state.is_finished and job.spec.step for job in changed):
        deps.events.wake("flows")
    if any(job.spec.service for job in changed):
        deps.events.wake("endpoints")
    if any(job.spec.service and job.spec.service.cluster for job in changed):
        deps.events.wake("clusters")


def _wake_agents(deps: Deps, changed: Sequence[Job]) -> None:
    """Those of the computes where the jobs are or were; all of them for what others have a part in.

    A router hears of its replicas, and whoever tends the volume of a workspace measures it. One that was only submitted
    is no agent's yet.
    """
    if any(job.spec.service or job.spec.workspaces for job in changed):
        deps.events.wake(AGENTS)
        return
    for compute in sorted({job.status.compute for job in changed if job.status.compute}):
        deps.events.wake(agents_of(compute))


def publish(deps: Deps, job: Job) -> None:
    """Notify open pages only: for changes that need no action."""
    data = {"project": job.project, "id": job.id, "what": "changed", "name": job.name, "state": job.status.state.value}
    deps.events.publish("jobs", project_id=job.project_id, data=data)
    if job.spec.step is not None:
        step = job.spec.step
        told = {"project": job.project, "id": step.run, "what": "step", "step": step.name, "index": step.index}
        told |= {"state": job.status.state.value, "job": job.id}
        deps.events.publish(f"flow-run:{step.run}", project_id=job.project_id, data=told)


def _state_change(before: Job, after: Job, now: datetime, by: str | None) -> StateChange:
    """Where and in which attempt it happened: of a job that is queued again, those that it leaves."""
    where = after if after.status.node is not None else before
    return StateChange(
        after.id, now, before.status.state, after.status.state, after.status.rule, by,
        where.status.node, after.status.attempt or None,
    )  # fmt: skip
