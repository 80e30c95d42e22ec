"""Nodes and running jobs as they are used now: GPUs, CPUs and memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from millpond.db import computes as compute_rows
from millpond.db import jobs, placements, usage
from millpond.db.usage import RecentUse
from millpond.model.job import Job
from millpond.model.people import Actor
from millpond.services.computes import computes
from millpond.services.computes.computes import ComputeView, NodeUse
from millpond.services.deps import Deps
from millpond.services.gpu_use import RECENT, gpu_use
from millpond.services.people import access

_UNUSED = RecentUse(0.0, 0)


@dataclass(frozen=True, slots=True)
class NodeTop:
    """`use` is what jobs have reserved; `measured` what they really use, together."""

    compute: ComputeView
    use: NodeUse
    measured: RecentUse
    gpu_percent: float | None
    idle_gpu_hundredths: int


@dataclass(frozen=True, slots=True)
class JobTop:
    """None for what was not measured within the last minute."""

    job: Job
    measured: RecentUse | None
    gpu_percent: float | None
    is_idle: bool


@dataclass(frozen=True, slots=True)
class Top:
    nodes: Sequence[NodeTop]
    jobs: Sequence[JobTop]


def top(deps: Deps, actor: Actor) -> Top:
    """Nodes of connected computes are for everybody; jobs only those of visible projects, most GPUs first."""
    now = deps.clock.now()
    gpus = gpu_use(deps, actor)
    with deps.db.read() as tx:
        running = jobs.running(tx)
        recent = usage.recent(tx, [job.id for job in running], since=now - RECENT)
        by_node = _by_node(tx, recent)
        views = computes.views(tx, compute_rows.all_computes(tx), now)
    of_node = {(one.compute.compute.id, one.use.node.name): one.gpus for one in gpus.nodes}
    of_job = {one.job_id: one for one in gpus.jobs}
    nodes = []
    for view in views:
        for use in view.nodes if view.connected else ():
            key = (view.compute.id, use.node.name)
            found = of_node.get(key)
            measured = by_node.get(key, _UNUSED)
            nodes.append(
                NodeTop(view, use, measured, found.percent if found else None, found.idle_hundredths if found else 0)
            )
    seen = sorted((job for job in running if access.sees(actor, job.project_id)), key=lambda job: -job.spec.gpus)
    shown = []
    for job in seen:
        gpu = of_job.get(job.id)
        shown.append(JobTop(job, recent.get(job.id), gpu.percent if gpu else None, gpu is not None and gpu.is_idle))
    return Top(nodes, shown)


def _by_node(tx: Connection, recent: Mapping[str, RecentUse]) -> Mapping[tuple[str, str], RecentUse]:
    """What jobs use, by compute and node; a distributed job counts with equal parts."""
    found: dict[tuple[str, str], RecentUse] = defaultdict(lambda: _UNUSED)
    for placement in placements.living(tx):
        used = recent.get(placement.job_id)
        if used is None:
            continue
        nodes = [place.node for place in placement.places] or [placement.node]
        for node in nodes:
            before = found[placement.compute_id, node]
            found[placement.compute_id, node] = RecentUse(
                before.cpu_percent + used.cpu_percent / len(nodes),
                before.memory_bytes + used.memory_bytes // len(nodes),
            )
    return found
