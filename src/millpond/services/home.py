"""The numbers of the first page, over what the actor may see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from millpond.db import computes as compute_rows
from millpond.db import datasets, jobs, volume_usage, volumes
from millpond.db.jobs import JobFilter
from millpond.model.job import JobState
from millpond.model.people import Actor
from millpond.model.topology import CacheUses
from millpond.services import gpu_use
from millpond.services.computes import computes
from millpond.services.computes.presence import connected_since
from millpond.services.deps import Deps
from millpond.services.jobs.jobs import JobView, views
from millpond.services.people import access
from millpond.services.places.volume_usage import running_fills

RECENT_JOBS = 10

_WAITING = (JobState.QUEUED, JobState.PREEMPTED)
_RUNNING = (JobState.PLACED, JobState.PREPARING, JobState.RUNNING)


@dataclass(frozen=True, slots=True)
class Home:
    gpus_total: int
    gpu_used_hundredths: int
    jobs_running: int
    jobs_waiting: int
    cached_bytes: int
    volume_bytes: int
    datasets: int
    dataset_bytes: int
    volumes_connected: int
    uses: CacheUses
    fills_running: int
    computes_connected: int
    recent_jobs: Sequence[JobView]
    # GPUs that running jobs hold and do not use, of everybody; the jobs only where the actor sees them.
    gpu_idle_hundredths: int
    idle_jobs: Sequence[JobView]


def home(deps: Deps, actor: Actor) -> Home:
    """Computes and volumes are everybody's; jobs, datasets and what they cache only those of visible projects."""
    now = deps.clock.now()
    among = access.visible_projects(actor)
    with deps.db.read() as tx:
        connected = [view for view in computes.views(tx, compute_rows.all_computes(tx), now) if view.connected]
        nodes = [use for view in connected for use in view.nodes]
        recent = jobs.page(tx, JobFilter(projects=among), limit=RECENT_JOBS)
        count, size = datasets.totals(tx, among=among)
        since = connected_since(now)
        well, capacity = volumes.connected(tx, since=since)
        held = jobs.with_gpus(tx)
        unused = gpu_use.idle_of(tx, held, now)
        idle = [job for job in held if job.id in unused]
        return Home(
            gpus_total=sum(use.node.gpus for use in nodes),
            gpu_used_hundredths=sum(use.gpu_used_hundredths for use in nodes),
            jobs_running=jobs.count(tx, JobFilter(projects=among, states=_RUNNING)),
            jobs_waiting=jobs.count(tx, JobFilter(projects=among, states=_WAITING)),
            cached_bytes=volumes.cached_bytes(tx, among=among, since=since),
            volume_bytes=capacity,
            datasets=count,
            dataset_bytes=size,
            volumes_connected=well,
            uses=volume_usage.uses(tx, among=among),
            fills_running=len(running_fills(tx, actor, deps.clock.now())),
            computes_connected=len(connected),
            recent_jobs=views(tx, recent, now),
            gpu_idle_hundredths=sum(job.spec.resources.gpu_hundredths * max(1, job.spec.processes) for job in idle),
            idle_jobs=views(tx, [job for job in idle if access.sees(actor, job.project_id)], now),
        )
