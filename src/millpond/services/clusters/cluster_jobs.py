"""The jobs of a cluster: what its scheduler and workers run, with which resources, where."""

from __future__ import annotations

from millpond.decide.clusters.scheduler import scheduler_memory
from millpond.model.cluster import Cluster, ClusterRole
from millpond.model.ids import new_id
from millpond.model.job_spec import JobKind, JobService, JobSpec
from millpond.model.people import Project
from millpond.services.clusters.program import PACKAGE, program_commit
from millpond.services.deps import Deps

EXPERIMENT = "clusters"
# A worker hands over its results or ends its tasks before it goes.
_GRACE_SECONDS = 60
_LONGEST_NAME = 63


def cluster_job(deps: Deps, project: Project, cluster: Cluster, role: ClusterRole) -> tuple[str, JobSpec]:
    """Name and specification. A worker may be preempted, because it is retired first; a scheduler may not."""
    asked, is_worker = cluster.spec, role is ClusterRole.WORKER
    spec = JobSpec(
        kind=JobKind.SERVICE,
        command=("python3", "-m", PACKAGE),
        code_commit=program_commit(deps, project, cluster.created_by),
        environment=asked.environment,
        image=asked.image,
        cpu=asked.cpu if is_worker else 0,
        memory_bytes=asked.memory_bytes if is_worker else scheduler_memory(asked),
        gpu_hundredths=asked.gpu_hundredths if is_worker else 0,
        compute=asked.compute,
        on=asked.on,
        site_id=cluster.site_id,
        preemptible=is_worker,
        grace_seconds=_GRACE_SECONDS,
        # Ray runs tasks without CPUs beside its head. All read the same commit, though a branch moves on.
        inputs=asked.inputs,
        pinned=True,
        experiment=EXPERIMENT,
        tags={"cluster": cluster.name, "role": role.value},
        service=JobService(role.value, cluster=cluster.id, offline=False),
    )
    end = new_id()[:6]
    base = f"{cluster.name}-{role.value}"
    return f"{base[: _LONGEST_NAME - len(end) - 1]}-{end}", spec
