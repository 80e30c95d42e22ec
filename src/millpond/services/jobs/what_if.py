"""What if quotas, settings or nodes were different: replay the jobs of now, or recorded ones, both ways."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from statistics import median

from millpond.db import jobs
from millpond.db.jobs import JobFilter
from millpond.decide.places import size_of
from millpond.decide.scheduling.simulate import Arrival
from millpond.decide.scheduling.snapshot import Job as PlanJob
from millpond.decide.scheduling.snapshot import Pending, Running, Snapshot
from millpond.decide.scheduling.what_if import Change, Comparison, compare
from millpond.errors import Invalid, TooMany
from millpond.model.job import Job
from millpond.services.deps import Deps
from millpond.services.jobs.loaded import Loaded, load
from millpond.services.jobs.plan_input import plan_input
from millpond.services.people.access import not_found

# A replay of so many jobs takes about a minute.
MAX_JOBS = 20_000
# Durations are learned from jobs that ended within this time.
_LEARNED = timedelta(days=30)
# What is left of a job that has run longer than jobs of its project usually do.
_LEAST_LEFT = 60.0


def what_if(deps: Deps, change: Change, *, replay_seconds: int | None, duration_seconds: float) -> Comparison:
    """Nothing is changed. With `replay_seconds` jobs that ended within that time are replayed, else those of now."""
    now = deps.clock.now()
    since = now - (_LEARNED if replay_seconds is None else timedelta(seconds=replay_seconds))
    with deps.db.read() as tx:
        loaded = load(tx, now, deps.settings)
        ended = jobs.ended_last(tx, JobFilter(), since=since, limit=MAX_JOBS + 1)
    _check(loaded, change)
    snapshot = plan_input(loaded).snapshot
    if replay_seconds is None:
        start, arrivals = _present(snapshot, _durations(ended), duration_seconds)
    else:
        start, arrivals = _recorded(snapshot, ended, since)
    if len(arrivals) > MAX_JOBS:
        raise TooMany(
            f"{len(arrivals)} jobs are too many to replay: at most {MAX_JOBS}.", hint="Replay a shorter time."
        )
    try:
        return compare(start, change, arrivals)
    except KeyError as error:
        raise not_found("node", str(error.args[0]), [node.id for node in snapshot.nodes]) from error


def _check(loaded: Loaded, change: Change) -> None:
    names = {project.name for project in loaded.projects.values()}
    for name in change.projects:
        if name not in names:
            raise not_found("project", name, names)
    if change.nodes and not loaded.world.nodes:
        raise Invalid("No node is attached yet, so there is none that new ones could be like.")


def _present(
    snapshot: Snapshot, usual: Mapping[str, float], otherwise: float
) -> tuple[Snapshot, list[Arrival]]:  # fmt: skip
    """What runs goes on, and what waits waits. Jobs that wait for others count as ready."""

    def duration(job: PlanJob) -> float:
        expected = usual.get(job.project, otherwise)
        return min(expected, job.time_limit) if job.time_limit else expected

    def left(running: Running) -> float:
        done = max(0.0, snapshot.now - running.started)
        return max(duration(running.job), done + _LEAST_LEFT)

    running = tuple(replace(one, nominated=False) for one in snapshot.running)
    arrivals = [
        *(Arrival(Pending(one.job), left(one), grace=_grace(one)) for one in running),
        *(Arrival(Pending(one.job), duration(one.job), grace=_grace(one)) for one in snapshot.ending),
        *(Arrival(replace(one, held=None), duration(one.job)) for one in snapshot.pending),
    ]
    return replace(snapshot, running=running, pending=(), ending=(), reservations=()), arrivals


def _recorded(snapshot: Snapshot, ended: Sequence[Job], since: datetime) -> tuple[Snapshot, list[Arrival]]:
    """Jobs as they were submitted and ran, on the nodes of now, from an empty cluster on, without labels and data."""
    ran = [job for job in ended if job.queued_at >= since and _seconds(job) is not None]
    arrivals = [Arrival(Pending(_plan_job(job)), _seconds(job) or 0.0, grace=_saves(job)) for job in ran]
    first = min((job.queued_at.timestamp() for job in ran), default=snapshot.now)
    return replace(snapshot, now=first, running=(), pending=(), ending=(), reservations=()), arrivals


def _plan_job(job: Job) -> PlanJob:
    spec = job.spec
    return PlanJob(
        job.id, job.project, size_of(spec), spec.priority, job.queued_at.timestamp(), spec.is_preemptible,
        spec.timeout_seconds or None,
    )  # fmt: skip


def _durations(ended: Sequence[Job]) -> Mapping[str, float]:
    """The median of each project."""
    found: dict[str, list[float]] = defaultdict(list)
    for job in ended:
        seconds = _seconds(job)
        if seconds is not None:
            found[job.project].append(seconds)
    return {project: median(seconds) for project, seconds in found.items()}


def _seconds(job: Job) -> float | None:
    """How long its command ran; None if it never began."""
    start, end = job.status.started_at, job.status.exited_at or job.status.ended_at
    return None if start is None or end is None else max(0.0, (end - start).total_seconds())


def _saves(job: Job) -> float | None:
    return float(job.spec.grace_seconds) if job.status.saved_at is not None else None


def _grace(running: Running) -> float | None:
    """One that has saved a checkpoint before saves one when it is told to stop."""
    return None if running.saved is None else 30.0
