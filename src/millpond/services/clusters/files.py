"""What agents give to the jobs of clusters and to jobs that use one: addresses, certificates, tokens."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import Connection

from millpond.db import clusters, volumes
from millpond.errors import Unavailable
from millpond.model.cluster import Cluster, ClusterKind, ClusterProcess, ClusterProcessState, ClusterRole
from millpond.model.job import Job
from millpond.sealing import Seal
from millpond.services.clusters.credentials import CA, CERT, KEY, TOKEN, opened
from millpond.services.endpoints.service_files import ServiceFiles

# Where the agent puts the files of a job; in variables it stands for the folder's path.
FOLDER = "{service}"
_TLS = "DASK_DISTRIBUTED__COMM__TLS__"
_UNSEALED = ServiceFiles(refused="the credentials of its cluster cannot be decrypted with the server's key")


def of_jobs(tx: Connection, jobs: Iterable[Job], seal: Seal) -> Mapping[str, ServiceFiles]:
    """By the ids of those jobs that are of a cluster or use one."""
    known = list(jobs)
    parts = clusters.of_jobs(tx, {job.id for job in known if job.spec.service and job.spec.service.cluster})
    found = {
        job_id: _of_process(tx, process, cluster, seal, _scheduler(tx, cluster))
        for job_id, (process, cluster) in parts.items()
    }
    # One whose cluster is gone is being stopped, and keeps what it has.
    left = {job.id: ServiceFiles() for job in known if job.spec.service and job.spec.service.cluster}
    using = {job.id: _of_client(tx, job, seal) for job in known if job.spec.cluster is not None}
    return {**left, **found, **using}


def _given(tx: Connection, cluster: Cluster, role: ClusterRole, seal: Seal) -> Mapping[str, str] | None:
    """None if they were sealed with another key than this server's."""
    try:
        return opened(seal, cluster.id, clusters.secret(tx, cluster.id))[role]
    except Unavailable:
        return None


def _of_process(
    tx: Connection, process: ClusterProcess, cluster: Cluster, seal: Seal, ready: Mapping[str, Any]
) -> ServiceFiles:
    given = _given(tx, cluster, process.role, seal)
    if given is None:
        return _UNSEALED
    told = {
        "kind": cluster.spec.kind.value,
        "role": process.role.value,
        "cluster": cluster.name,
        "scheduler": ready.get("scheduler"),
        "worker_cpus": cluster.spec.cpu,
    }
    near = [one for one in volumes.all_of(tx, cluster.site_id) if one.problem is None]
    return ServiceFiles(
        files={"cluster.json": json.dumps(told), **given},
        scratch_volume=near[0].id if near and process.role is ClusterRole.WORKER else "",
        waiting="" if ready or process.role is ClusterRole.SCHEDULER else _waiting(cluster),
    )  # fmt: skip


def _of_client(tx: Connection, job: Job, seal: Seal) -> ServiceFiles:
    cluster = clusters.find(tx, job.project_id, job.spec.cluster or "")
    if cluster is None or cluster.deleted_at is not None:
        return ServiceFiles(refused=f"the cluster {job.spec.cluster!r} no longer exists")
    ready = _scheduler(tx, cluster)
    if not ready:
        return ServiceFiles(waiting=_waiting(cluster))
    given = _given(tx, cluster, ClusterRole.CLIENT, seal)
    if given is None:
        return _UNSEALED
    env = variables(cluster.spec.kind, ready)
    if cluster.spec.kind is not ClusterKind.RAY:
        return ServiceFiles(files=given, env=env)
    # Ray Data and others do not work over Ray Client: the job's programs are drivers, with a node beside them.
    told = {"kind": "ray", "role": ClusterRole.CLIENT.value, "scheduler": ready["scheduler"]}
    return ServiceFiles(files={"cluster.json": json.dumps(told), **given}, env=env, joins="ray")


def variables(kind: ClusterKind, ready: Mapping[str, Any]) -> dict[str, str]:
    """By which programs find a cluster without knowing that it is Millpond's."""
    if kind is ClusterKind.RAY:
        return {
            "RAY_ADDRESS": str(ready.get("client") or ready["scheduler"]),
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN_PATH": f"{FOLDER}/{TOKEN}",
        }
    return {
        "DASK_SCHEDULER_ADDRESS": str(ready["scheduler"]),
        f"{_TLS}CA_FILE": f"{FOLDER}/{CA}",
        f"{_TLS}CLIENT__CERT": f"{FOLDER}/{CERT}",
        f"{_TLS}CLIENT__KEY": f"{FOLDER}/{KEY}",
    }


def _scheduler(tx: Connection, cluster: Cluster) -> Mapping[str, Any]:
    """What the scheduler that answers now told; empty while there is none."""
    living = clusters.living(tx, [cluster.id])
    ready = ClusterProcessState.READY
    return next((one.ready for one in living if one.role is ClusterRole.SCHEDULER and one.state is ready), {})


def _waiting(cluster: Cluster) -> str:
    return f"the scheduler of cluster {cluster.name} is not ready yet"
