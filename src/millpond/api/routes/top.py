"""Nodes and running jobs as they are used now."""

from __future__ import annotations

from fastapi import APIRouter

from millpond.api.access import DepsOf, SignedIn
from millpond.services import top
from millpond.services.top import JobTop, NodeTop
from millpond.wire import top as wire

router = APIRouter(tags=["computes"])


@router.get("/top")
def get_top(actor: SignedIn, deps: DepsOf) -> wire.Top:
    """GPUs, CPUs and memory of every connected node, and of every running job that one may see."""
    found = top.top(deps, actor)
    return wire.Top(nodes=[_node(one) for one in found.nodes], jobs=[_job(one) for one in found.jobs])


def _node(one: NodeTop) -> wire.TopNode:
    node, use = one.use.node, one.use
    return wire.TopNode(
        compute=one.compute.compute.name,
        site=one.compute.compute.site,
        node=node.name,
        jobs=use.running,
        gpus=node.gpus,
        gpu_model=node.gpu_model,
        gpus_allocated=use.gpu_used_hundredths / 100,
        gpus_idle=one.idle_gpu_hundredths / 100,
        gpu_percent=one.gpu_percent,
        cpus=node.cpus,
        cpus_reserved=use.cpu_used,
        cpus_used=one.measured.cpu_percent / 100,
        memory_bytes=node.memory_bytes,
        memory_reserved_bytes=use.memory_used_bytes,
        memory_used_bytes=one.measured.memory_bytes,
    )


def _job(one: JobTop) -> wire.TopJob:
    job = one.job
    return wire.TopJob(
        id=job.id,
        name=job.name,
        project=job.project,
        user=job.created_by,
        compute=job.status.compute,
        node=job.status.node,
        started_at=job.status.started_at,
        gpus=job.spec.gpus / 100,
        gpu_percent=one.gpu_percent,
        idle=one.is_idle,
        cpus_used=one.measured.cpu_percent / 100 if one.measured else None,
        memory_used_bytes=one.measured.memory_bytes if one.measured else None,
    )
