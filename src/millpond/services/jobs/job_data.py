"""Fetches a job's data next to its compute: onto one volume, leased while the job has a placement."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from logging import getLogger

from sqlalchemy import Connection

from millpond.db import caches as rows
from millpond.db import computes, jobs, placements, volumes
from millpond.db.caches import CachedView
from millpond.decide import job_life
from millpond.decide.job_life import Report
from millpond.decide.likely_node import likely_node
from millpond.decide.near import NearRule
from millpond.decide.score import DATA_SPACE, LOCALITY
from millpond.errors import DoesNotFit, MillError, NotFound, NotReady, VolumeProblem
from millpond.model.cached_state import CachedState
from millpond.model.job import Job, JobState, PlacementState
from millpond.model.job_spec import JobSpec
from millpond.model.people import Actor, Project
from millpond.model.quantity import format_bytes
from millpond.model.volume import Volume
from millpond.services.caches import job_caches
from millpond.services.caches.access import announce
from millpond.services.caches.admission import differences
from millpond.services.deps import Deps
from millpond.services.jobs import job_changes, snapshot
from millpond.services.jobs.snapshot import commits_of, commits_of_spec
from millpond.services.places.geography import rule_of

logger = getLogger(__name__)

# What data that cannot be brought near now raises: the job waits.
WAITS = (DoesNotFit, VolumeProblem, NotReady)


def bring(
    tx: Connection, job: Job, candidates: Sequence[Volume], now: datetime, also: Sequence[str] = ()
) -> Sequence[CachedView]:
    """Lease all of the job's commits on one volume: the one that holds most of them, or the next with space.

    `also`: commits that it will need, like an environment that was built for it.
    Raises one of WAITS if no volume can hold them, NotFound if a dataset is gone; nothing has changed then.
    """
    commits = [*commits_of(job), *also]
    if not commits or (not candidates and commits == [job.spec.code_commit]):
        return ()  # code alone is fetched by the agent where no volume is near
    refusal: MillError | None = None
    for volume in _most_there_first(tx, candidates, commits):
        try:
            return job_caches.ensure_cached_for_job(
                tx, now=now, job_id=job.id, requested_by=job.created_by, commits=commits, volume_id=volume.id
            )
        except WAITS as error:
            refusal = refusal or error
    raise refusal or VolumeProblem("No working volume is near the compute.")


def why_waiting(error: MillError) -> str:
    """One of WAITS as a reason of the job. Names no blockers: they may belong to another project."""
    needed = error.details.get("needed_bytes")
    if isinstance(error, DoesNotFit) and isinstance(needed, int):
        return f"Volume {error.details.get('volume')} has no space for its data: {format_bytes(needed)} more needed."
    return error.message


def are_ready(found: Sequence[CachedView]) -> bool:
    return all(view.cached.state is CachedState.READY for view in found)


def prefetch(deps: Deps, job: Job, now: datetime) -> None:
    """Start to fetch a queued job's data where it is likely to run. Nothing is leased until it is placed."""
    if not commits_of(job):
        return
    with deps.db.read() as tx:
        world = snapshot.load(tx, now, commits_of(job), rule_of(deps.settings), deps.settings.fill_price)
    fill_price = deps.settings.fill_price
    node = likely_node(world.queued(job), world.nodes.values(), world.zones, fill_price=fill_price)
    if node is not None:
        begin_fills(deps, job, world.volumes.get(node.compute_id, ()), now)


def prefetch_ahead(deps: Deps, spec: JobSpec, actor: Actor, project: Project, now: datetime) -> None:
    """Start to fetch the data of a job that will be submitted, where it is likely to run. WAITS if there is no room."""
    wanted = commits_of_spec(spec)
    if not wanted:
        return
    price = deps.settings.fill_price
    with deps.db.read() as tx:
        world = snapshot.load(tx, now, wanted, rule_of(deps.settings), price)
    queued = snapshot.queued_job("", spec, wanted, world.sizes, project_id=project.id, project=project.name)
    node = likely_node(queued, world.nodes.values(), world.zones, fill_price=price)
    candidates = world.volumes.get(node.compute_id, ()) if node else ()
    if not candidates:
        return
    differences.prepare(deps, wanted)
    with deps.db.write() as tx:
        volume = _most_there_first(tx, candidates, wanted)[0]
        found = job_caches.cache_ahead(tx, now=now, requested_by=actor.name, commits=wanted, volume_id=volume.id)
    announce(deps, found)


@dataclass(frozen=True, slots=True)
class NotBegun:
    """Why data does not come: there is no room for it (data-space), or fetching it failed (locality)."""

    rule: str
    words: str


def begin_fills(
    deps: Deps, job: Job, candidates: Sequence[Volume], now: datetime, also: Sequence[str] = ()
) -> NotBegun | None:
    """Start to fetch a queued job's data to one of these volumes; why that is not possible now, if it is not."""
    differences.prepare(deps, commits_of(job))
    try:
        with deps.db.write() as tx:
            waiting = jobs.lock(tx, job.id)
            if waiting is None or waiting.status.state is not JobState.QUEUED:
                return None  # placed meanwhile: it holds what it needs, and what it holds must not be let go here
            found = bring(tx, waiting, candidates, now, also)
            job_caches.release_for_job(tx, job.id, now=now)
    except NotFound as error:
        logger.info("prefetch_failed job=%s reason=%s", job.id, error.message)
        return None  # placing it says so
    except WAITS as error:
        logger.info("prefetch_refused job=%s reason=%s", job.id, error.message)
        return NotBegun(DATA_SPACE, why_waiting(error))
    announce(deps, found)
    failed = next((view for view in found if view.cached.state is CachedState.FAILED), None)
    return NotBegun(LOCALITY, _why_failed(failed)) if failed else None


def look_after(deps: Deps, now: datetime) -> None:
    """For placed jobs that wait for data: restart failed fills, and note when all data is there."""
    with deps.db.read() as tx:
        unfilled = jobs.unfilled(tx)
        leased = placements.leased(tx, [job.id for job in unfilled])
    changed: list[Job] = []
    for job in unfilled:
        held = leased.get(job.id, {})
        missing = [commit for commit in commits_of(job) if commit not in held]
        if not missing and all(commit.state is CachedState.FILLING for commit in held.values()):
            continue
        with deps.db.write() as tx:
            holds = {commit.volume_id for commit in held.values()}
            after, found = _look_after(tx, job.id, holds, rule_of(deps.settings), now)
        announce(deps, found)
        changed += [after] if after else []
    job_changes.announce(deps, changed)


def _look_after(
    tx: Connection, job_id: str, volume_ids: Collection[str], rule: NearRule, now: datetime
) -> tuple[Job | None, Sequence[CachedView]]:
    """The job if it changed, and its data, which stays on the volumes where it is leased."""
    job = jobs.lock(tx, job_id)
    if job is None or job.status.state not in (JobState.PLACED, JobState.PREPARING):
        return None, ()
    found: Sequence[CachedView] = ()
    try:
        near = [volume for volume in volumes.all_of(tx) if volume.id in volume_ids]
        found = bring(tx, job, near or _serving(tx, job, rule, now), now)
        reasons = [_why_failed(view) for view in found if view.cached.state is CachedState.FAILED]
        after = job_life.wait(job, reasons)
        after = job_life.fill(after, now) if are_ready(found) else after
    except WAITS as error:
        after = job_life.wait(job, [why_waiting(error)])
    except NotFound as error:
        # Its command has not begun, so ending the placement from here ends everything.
        report = Report(PlacementState.FINISHED, problem=f"Its data no longer exists: {error.message}")
        after = job_life.observe(job, report, now)
        placements.note_end(
            tx, job.status.placement_id or "", ending=after.status.ending, problem=report.problem, now=now
        )
    return (after, found) if job_changes.save(tx, job, after, now) else (None, found)


def _serving(tx: Connection, job: Job, rule: NearRule, now: datetime) -> Sequence[Volume]:
    """Volumes near the job's compute, for a job that has no lease yet."""
    compute = computes.find(tx, job.status.compute or "")
    return snapshot.serving_volumes(tx, [compute], rule, now)[compute.id] if compute else ()


def _why_failed(view: CachedView) -> str:
    return f"Fetching {view.written} failed ({view.cached.problem}); retrying."


def _most_there_first(tx: Connection, candidates: Sequence[Volume], commits: Sequence[str]) -> list[Volume]:
    """Volumes sorted by how much of the data they hold, most first; stable."""
    there = {volume.id: 0 for volume in candidates}
    for view in rows.of_commits(tx, commits):
        if view.cached.volume_id in there and view.cached.state in (CachedState.READY, CachedState.FILLING):
            there[view.cached.volume_id] += 1 + view.cached.bytes
    return sorted(candidates, key=lambda volume: -there[volume.id])
