"""Jobs: find them by id, NAME or NAME#N, list, stop, delete and restore them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from sqlalchemy import Connection

from millpond.db import computes, jobs, placements, runs
from millpond.db.jobs import JobFilter
from millpond.decide import job_life
from millpond.decide.job_names import JobWritten
from millpond.decide.ledger import Ledger, ledger
from millpond.errors import BadRequest, NotFound
from millpond.model.job import Ending, Job, JobState, Placement
from millpond.model.people import Actor, Project, Role
from millpond.services.deps import Deps
from millpond.services.jobs import job_changes
from millpond.services.listing import Listing, page_of
from millpond.services.people import access, audit
from millpond.services.time_cursors import moment_of, written_moment

MIN_PREFIX, MAX_PREFIX = 4, 64


@dataclass(frozen=True, slots=True)
class JobView:
    """A job, how people write it, where its time went, the jobs it comes after, by id, and the GPUs that it holds."""

    job: Job
    written: str
    ledger: Ledger
    others: Mapping[str, Job]
    gpu_ids: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class AttemptView:
    placement: Placement
    compute: str


@dataclass(frozen=True, slots=True)
class JobChange:
    """A change to a job: the action for the audit log, and a function to the changed job."""

    action: str
    apply: Callable[[Job], Job]


def find(tx: Connection, project: Project, text: str) -> Job:
    """Find a job by id, NAME (the newest), NAME#N, or the beginning of an id."""
    written = JobWritten.parse(text)
    found = jobs.get(tx, written.name) if written.number is None else None
    if found is None or found.project_id != project.id:
        found = jobs.find_numbered(tx, project.id, written.name, written.number)
    if found is None and written.number is None and MIN_PREFIX <= len(written.name) <= MAX_PREFIX:
        found = _by_prefix(tx, project, written.name)
    if found is None:
        raise access.not_found("job", text, jobs.names(tx, project.id))
    return found


def get(deps: Deps, project: Project, text: str) -> JobView:
    with deps.db.read() as tx:
        return views(tx, [find(tx, project, text)], deps.clock.now())[0]


def get_plain(deps: Deps, project: Project, text: str) -> Job:
    with deps.db.read() as tx:
        return find(tx, project, text)


def view(deps: Deps, job: Job) -> JobView:
    with deps.db.read() as tx:
        return views(tx, [job], deps.clock.now())[0]


def attempts(deps: Deps, project: Project, text: str) -> list[AttemptView]:
    """Attempts to run the job, oldest first."""
    with deps.db.read() as tx:
        found = placements.of_job(tx, find(tx, project, text).id)
        names = computes.names(tx, {placement.compute_id for placement in found})
    return [AttemptView(placement, names.get(placement.compute_id, "")) for placement in found]


def list_jobs(
    deps: Deps, actor: Actor, chosen: JobFilter, *, project: str | None, limit: int, cursor: str | None
) -> Listing[JobView]:  # fmt: skip
    """Jobs of one project, or of all that the actor can see, newest first."""
    with deps.db.read() as tx:
        among = [access.find_project(tx, actor, project, Role.VIEWER).id] if project else access.visible_projects(actor)
        chosen = replace(chosen, projects=among)
        found = jobs.page(tx, chosen, limit=limit + 1, before=moment_of(cursor))
        shown = views(tx, found, deps.clock.now())
    return page_of(shown, limit, key=lambda item: written_moment(item.job.queued_at, item.job.id))


def stop(deps: Deps, actor: Actor, project: Project, text: str) -> JobView:
    """Stop the job and keep everything. No effect if it has ended or is being stopped."""
    return _change(deps, actor, project, text, stopping(deps, actor))


def delete(deps: Deps, actor: Actor, project: Project, text: str) -> JobView:
    """Stop the job if it runs, and move it with its run to the bin."""
    return _change(deps, actor, project, text, deleting(deps, actor))


def undelete(deps: Deps, actor: Actor, project: Project, text: str) -> JobView:
    """Restore job and run from the bin."""
    return _change(deps, actor, project, text, undeleting(deps, actor))


def suspend(deps: Deps, actor: Actor, project: Project, text: str) -> JobView:
    """Stop the job for a while: it keeps its checkpoint and its place in line, and waits to be resumed."""
    return _change(deps, actor, project, text, suspending(deps, actor))


def resume(deps: Deps, actor: Actor, project: Project, text: str) -> JobView:
    """Put a suspended job back into the queue."""
    return _change(deps, actor, project, text, resuming(deps, actor))


def stopping(deps: Deps, actor: Actor) -> JobChange:
    now = deps.clock.now()
    return JobChange("job.stop", lambda job: stopped(job, actor, now))


def suspending(deps: Deps, actor: Actor) -> JobChange:
    now = deps.clock.now()
    return JobChange("job.suspend", lambda job: job_life.suspend(job, actor.name, now))


def resuming(deps: Deps, actor: Actor) -> JobChange:
    now = deps.clock.now()
    return JobChange("job.resume", lambda job: job_life.resume(job, actor.name, now))


def deleting(deps: Deps, actor: Actor) -> JobChange:
    now = deps.clock.now()
    return JobChange(
        "job.delete", lambda job: stopped(job, actor, now).changed(deleted_at=job.status.deleted_at or now)
    )


def undeleting(deps: Deps, actor: Actor) -> JobChange:
    oldest = deps.clock.now() - timedelta(days=deps.settings.bin_days)

    def restored(job: Job) -> Job:
        if job.status.deleted_at is not None and job.status.deleted_at < oldest:
            raise NotFound(f"Job {job.name!r} cannot be restored: deleted more than {deps.settings.bin_days} days ago.")
        return job.changed(deleted_at=None)

    return JobChange("job.undelete", restored)


def views(tx: Connection, found: Sequence[Job], now: datetime) -> list[JobView]:
    newest = jobs.newest_numbers(tx, found)
    others = jobs.by_ids(tx, {one.job for job in found for one in job.spec.after})
    held = placements.gpu_ids(tx, [job.status.placement_id for job in found if _holds_gpus(job)])
    return [
        JobView(
            job=job,
            written=job.name if newest[job.project_id, job.name] == job.number else f"{job.name}#{job.number}",
            ledger=ledger(job, now),
            others=others,
            gpu_ids=held.get(job.status.placement_id or "", ()),
        )
        for job in found
    ]


def _holds_gpus(job: Job) -> bool:
    return bool(job.spec.gpus and job.status.placement_id and not job.status.state.is_finished)


def _by_prefix(tx: Connection, project: Project, prefix: str) -> Job | None:
    found = jobs.find_by_prefix(tx, project.id, prefix)
    if len(found) > 1:
        raise BadRequest(
            f"Several jobs have ids that begin with {prefix!r}: {', '.join(job.id for job in found)} …",
            hint="Use more of the id, or the name.",
        )
    return found[0] if found else None


def stopped(job: Job, actor: Actor, now: datetime) -> Job:
    """The job as it is after somebody asked for its end."""
    comes_back = job.status.ending in (Ending.PREEMPTED, Ending.SUSPENDED)
    if job.status.state.is_finished or (job.status.stop_requested_at is not None and not comes_back):
        return job
    job = job.changed(suspended_at=None)
    if job.status.state in (JobState.QUEUED, JobState.SUSPENDED):
        earlier = " before it was placed" if not job.status.attempt else ""
        return job_life.cancel(job, f"Stopped by {actor.name}{earlier}.", now)
    return job_life.request_stop(job, f"Stop requested by {actor.name}.", now)


def change(deps: Deps, actor: Actor, project: Project, text: str, wanted: JobChange) -> tuple[Job, bool]:
    """The changed job, and whether anything changed; if so, the caller announces it."""
    now = deps.clock.now()
    with deps.db.write() as tx:
        found = find(tx, project, text)
        before = jobs.lock(tx, found.id) or found
        after = wanted.apply(before)
        changed = job_changes.save(tx, before, after, now, by=actor.name)
        if changed:
            _move_run(tx, before, after)
            audit.record(
                tx, now=now, actor=actor, action=wanted.action, subject=f"{project.name}/{after.name}",
                project_id=project.id, details={"job": after.id},
            )  # fmt: skip
    return after, changed


def _change(deps: Deps, actor: Actor, project: Project, text: str, wanted: JobChange) -> JobView:
    job, changed = change(deps, actor, project, text, wanted)
    job_changes.announce(deps, [job] if changed else [])
    return view(deps, job)


def _move_run(tx: Connection, before: Job, after: Job) -> None:
    """Delete or restore the run together with its job."""
    if before.status.deleted_at == after.status.deleted_at:
        return
    run = runs.lock(tx, after.run_id)
    if run is not None:
        runs.save(tx, replace(run, deleted_at=after.status.deleted_at))
