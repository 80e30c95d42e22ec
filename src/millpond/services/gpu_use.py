"""GPUs as they are used now: of each node, and of each running job."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection

from millpond.db import computes as compute_rows
from millpond.db import jobs, placements, usage
from millpond.decide.gpu_use import HeldGpus, NodeGpus, node_gpus
from millpond.decide.idle_gpus import IDLE_AFTER, GpuUse, idle_jobs
from millpond.model.job import Job
from millpond.model.people import Actor
from millpond.services.computes import computes
from millpond.services.computes.computes import ComputeView, NodeUse
from millpond.services.deps import Deps
from millpond.services.people import access

# Utilisation is the mean of so long: samples come every few seconds.
RECENT = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class NodeView:
    compute: ComputeView
    use: NodeUse
    gpus: NodeGpus


@dataclass(frozen=True, slots=True)
class JobView:
    job_id: str
    percent: float | None
    is_idle: bool


@dataclass(frozen=True, slots=True)
class GpuUses:
    nodes: Sequence[NodeView]
    jobs: Sequence[JobView]


def gpu_use(deps: Deps, actor: Actor) -> GpuUses:
    """Nodes are everybody's; jobs only those of visible projects."""
    now = deps.clock.now()
    with deps.db.read() as tx:
        running = {job.id: job for job in jobs.with_gpus(tx)}
        percents = usage.gpu_means(tx, running, since=now - RECENT)
        idle = idle_of(tx, running.values(), now)
        held = _held(tx, running, percents, idle)
        views = computes.views(tx, compute_rows.all_computes(tx), now)
    nodes = [
        NodeView(view, use, node_gpus(use.node.gpus, held[view.compute.id, use.node.name]))
        for view in views
        for use in view.nodes
        if view.connected and use.node.gpus > 0
    ]
    seen = [job for job in running.values() if access.sees(actor, job.project_id)]
    return GpuUses(nodes, [JobView(job.id, percents.get(job.id), job.id in idle) for job in seen])


def idle_of(tx: Connection, running: Collection[Job], now: datetime) -> set[str]:
    """Those whose GPUs have done nothing for a while."""
    peaks = usage.gpu_peaks(tx, [job.id for job in running], since=now - IDLE_AFTER)
    return set(idle_jobs((GpuUse(job.id, job.status.started_at or now, peaks.get(job.id)) for job in running), now))


def _held(
    tx: Connection, running: Mapping[str, Job], percents: Mapping[str, float | None], idle: Collection[str]
) -> Mapping[tuple[str, str], list[HeldGpus]]:
    """What running jobs hold, by compute and node; of a distributed job, each process apart."""
    held: dict[tuple[str, str], list[HeldGpus]] = defaultdict(list)
    for placement in placements.living(tx):
        job = running.get(placement.job_id)
        if job is None:
            continue
        part = HeldGpus(job.spec.resources.gpu_hundredths, percents.get(job.id), job.id in idle)
        for node in [place.node for place in placement.places] or [placement.node]:
            held[placement.compute_id, node].append(part)
    return held
