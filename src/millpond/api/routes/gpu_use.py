"""GPUs as they are used now: of each node, and of each running job."""

from __future__ import annotations

from fastapi import APIRouter

from millpond.api.access import DepsOf, SignedIn
from millpond.services import gpu_use
from millpond.services.gpu_use import NodeView
from millpond.wire import gpu_use as wire

router = APIRouter(tags=["computes"])


@router.get("/gpu-use")
def get_gpu_use(actor: SignedIn, deps: DepsOf) -> wire.GpuUse:
    """Allocated, idle and busy GPUs of each node; utilisation of each running job that one may see."""
    found = gpu_use.gpu_use(deps, actor)
    nodes = [_node(view) for view in found.nodes]
    return wire.GpuUse(
        gpus=sum(node.gpus for node in nodes),
        allocated=sum(view.use.gpu_used_hundredths for view in found.nodes) / 100,
        idle=sum(view.gpus.idle_hundredths for view in found.nodes) / 100,
        nodes=nodes,
        jobs=[wire.JobGpus(id=job.job_id, utilization=job.percent, idle=job.is_idle) for job in found.jobs],
    )


def _node(view: NodeView) -> wire.NodeGpus:
    return wire.NodeGpus(
        compute=view.compute.compute.name,
        site=view.compute.compute.site,
        node=view.use.node.name,
        gpus=view.use.node.gpus,
        gpu_model=view.use.node.gpu_model,
        allocated=view.use.gpu_used_hundredths / 100,
        idle=view.gpus.idle_hundredths / 100,
        utilization=view.gpus.percent,
        running=view.use.running,
    )
