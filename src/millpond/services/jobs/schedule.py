"""One round of the scheduler: take back what has run out, look after data, start what fits, say why the rest waits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from logging import getLogger

from sqlalchemy import Connection

from millpond.db import jobs
from millpond.db.batches import batches
from millpond.db.caches import CachedView
from millpond.decide import job_life
from millpond.decide.placement import Plan, Start, plan_starts
from millpond.errors import MillError, NotFound
from millpond.model.job import Job, JobState
from millpond.services.caches.access import announce
from millpond.services.caches.admission import differences
from millpond.services.deps import Deps
from millpond.services.jobs import environments, job_changes, job_data, placements, snapshot, waiting
from millpond.services.jobs.environments import NO_ENVIRONMENTS, Environments
from millpond.services.jobs.placements import FreeRoom
from millpond.services.jobs.snapshot import World, commits_of
from millpond.services.places.geography import rule_of

logger = getLogger(__name__)

# Starts that are written together.
_AT_ONCE = 50


def run_once(deps: Deps, now: datetime) -> None:
    placements.expire(deps, now)
    waiting.stop_overdue(deps, now)
    job_data.look_after(deps, now)
    start_jobs(deps, now)


def start_jobs(deps: Deps, now: datetime) -> Plan:
    """Start every queued job that fits now; the last plan made.

    Whether a volume has room is known only when asked: a job that is refused gives up its place in a new plan.
    """
    blocked: dict[tuple[str, str], str] = {}
    while True:
        queue = waiting.look_at_queue(deps, now)
        with deps.db.read() as tx:
            world = snapshot.load(tx, now, queue.ready, rule_of(deps.settings))
        packages = environments.look(deps, world)
        plan = plan_starts(replace(world.snapshot, blocked={**packages.blocked, **blocked}))
        refused = _apply(deps, world, plan, now, packages)
        if not refused:
            _note_waits(deps, {**plan.waits, **queue.waits}, now)
            return plan
        blocked |= refused


def _apply(
    deps: Deps, world: World, plan: Plan, now: datetime, packages: Environments = NO_ENVIRONMENTS
) -> Mapping[tuple[str, str], str]:
    """Start what the plan says; for jobs whose data cannot be brought near: why, by job and compute."""
    refused: dict[tuple[str, str], str] = {}
    changed = [_fail(deps, job_id, problem, now) for job_id, problem in packages.failed.items()]
    for batch in batches(plan.starts, _AT_ONCE):
        for chosen in batch:
            differences.prepare(deps, commits_of(world.jobs[chosen.job_id]))
        gone: dict[str, str] = {}
        # Together: a transaction for each would be most of what five hundred short jobs cost.
        with deps.db.write() as tx:
            free = FreeRoom(tx, {chosen.compute_id for chosen in batch}, now)
            started = [_start(deps, tx, world, chosen, packages, free, now) for chosen in batch]
        for chosen, outcome in started:
            if isinstance(outcome, NotFound):
                gone[chosen.job_id] = f"Its data is gone: {outcome.message}"
            elif isinstance(outcome, MillError):
                refused[chosen.job_id, chosen.compute_id] = job_data.why_waiting(outcome)
            else:
                job, found = outcome
                announce(deps, found)
                changed.append(job)
                logger.info("job_placed job=%s node=%s started=%s", chosen.job_id, chosen.node, job is not None)
        changed += [_fail(deps, job_id, problem, now) for job_id, problem in gone.items()]
    job_changes.announce(deps, [job for job in changed if job is not None])
    return refused


def _start(
    deps: Deps,
    tx: Connection,
    world: World,
    chosen: Start,
    packages: Environments,
    free: FreeRoom,
    now: datetime,
) -> tuple[Start, tuple[Job | None, Sequence[CachedView]] | MillError]:
    """What came of one start among others: the error that keeps this one back, and nothing of it is left."""
    compute = world.computes[chosen.compute_id]
    build = packages.builds.get((chosen.job_id, compute.id))
    near = world.volumes.get(compute.id, ())
    try:
        with tx.begin_nested():
            return chosen, placements.start(deps, tx, chosen, compute, near, build, free, now)
    except (*job_data.WAITS, NotFound) as error:
        return chosen, error


def _fail(deps: Deps, job_id: str, problem: str, now: datetime) -> Job | None:
    with deps.db.write() as tx:
        job = jobs.lock(tx, job_id)
        if job is None or job.status.state is not JobState.QUEUED:
            return None
        after = job_life.fail(job, problem, now)
        job_changes.save(tx, job, after, now)
    return after


def _note_waits(deps: Deps, waits: Mapping[str, Sequence[str]], now: datetime) -> None:
    """Keep the newest reasons where `mill why` finds them; only what changed is written."""
    with deps.db.read() as tx:
        known = jobs.by_ids(tx, waits)
    news = [job_id for job_id, job in known.items() if job_life.wait(job, waits[job_id]) != job]
    if not news:
        return
    changed: list[Job] = []
    with deps.db.write() as tx:
        for job_id in sorted(news):  # in one order, so that two servers do not wait for each other
            job = jobs.lock(tx, job_id)
            if job is not None and job.status.state is JobState.QUEUED:
                after = job_life.wait(job, waits[job_id])
                changed += [after] if job_changes.save(tx, job, after, now) else []
    for job in changed:
        job_changes.publish(deps, job)
