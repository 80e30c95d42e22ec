"""Clusters as the wire shows them."""

from __future__ import annotations

from millpond.decide.clusters.scheduler import scheduler_memory
from millpond.model import cluster as model
from millpond.model.job_spec import JobInput
from millpond.wire import clusters as wire


def cluster(view: model.ClusterView) -> wire.Cluster:
    value, spec, demand, scheduler = view.cluster, view.cluster.spec, view.demand, view.scheduler
    told = scheduler.process.ready if scheduler else {}
    return wire.Cluster(
        id=value.id,
        project=value.project,
        name=value.name,
        kind=spec.kind,
        state=value.state,
        reasons=list(value.reasons),
        site=value.site,
        version=told.get("version"),
        address=told.get("client") or told.get("scheduler"),
        dashboard=told.get("dashboard"),
        workers_ready=sum(one.process.state is model.ClusterProcessState.READY for one in view.workers),
        wanted=value.wanted,
        wanted_reason=value.wanted_reason,
        adapt=wire.ClusterWorkerLimits(min=spec.adapt.min, max=spec.adapt.max) if spec.adapt else None,
        desired=demand.desired if demand else None,
        tasks=demand.tasks if demand else None,
        waiting=demand.waiting if demand else None,
        cpu=spec.cpu,
        memory_bytes=spec.memory_bytes,
        scheduler_memory_bytes=scheduler_memory(spec),
        gpu_hundredths=spec.gpu_hundredths,
        image=spec.image,
        compute=spec.compute,
        environment=spec.environment,
        data=[f"{one.dataset}@{one.commit_id}" for one in spec.inputs],
        scheduler=_job(scheduler) if scheduler else None,
        workers=[_job(one) for one in view.workers],
        created_by=value.created_by,
        created_at=value.created_at,
        changed_at=value.changed_at,
        history=[wire.ClusterEvent(at=one.at, what=one.what) for one in view.events],
    )


def spec(body: wire.ClusterCreate) -> model.ClusterSpec:
    return model.ClusterSpec(
        kind=body.kind,
        workers=body.workers,
        adapt=limits(body.adapt),
        cpu=body.cpu,
        memory_bytes=body.memory_bytes,
        scheduler_memory_bytes=body.scheduler_memory_bytes,
        gpu_hundredths=body.gpu_hundredths,
        environment=body.environment,
        image=body.image,
        compute=body.compute,
        on=body.on,
        inputs=tuple(JobInput.parse(one) for one in body.data),
    )


def limits(body: wire.ClusterLimits | None) -> model.ClusterAdapt | None:
    return model.ClusterAdapt(body.min, body.max) if body else None


def _job(view: model.ClusterProcessView) -> wire.ClusterJob:
    process = view.process
    return wire.ClusterJob(
        role=process.role,
        state=process.state,
        job=process.job_id,
        job_name=process.job_name,
        job_state=view.job_state,
        compute=view.compute,
        node=view.node,
        reason=view.reason,
        created_at=process.created_at,
        ready_at=process.ready_at,
        tasks=view.load.tasks if view.load else None,
        bytes=view.load.bytes if view.load else None,
    )
