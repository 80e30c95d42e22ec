"""The Job that runs one placement: a pure function of its spec and of what the agent was told about the cluster.

Only fields that every server since 1.20 knows: older servers drop others without a word.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from millpond.agent.archives import KEEPER
from millpond.agent.drivers.kubernetes.options import KubernetesOptions, PodSource
from millpond.agent.spec import RANKS, Mount, Spec

# The directory of a claim that is the workspace: what lies beside it belongs to the file system (lost+found).
CLAIM_TREE = "tree"
PLACEMENT = "millpond.dev/placement"
RANK = "millpond.dev/rank"
MANAGED = {"app.kubernetes.io/managed-by": "millpond"}
# By which address the pod of a rank or service is reached; it tells it to the others.
_ADDRESS = {"name": "MILL_ADDRESS", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
# What a Job leaves behind goes after this time, should its agent never come back.
KEPT_SECONDS = 24 * 3600
# How long the keeper has beyond the job's own grace to end what is left and to write it down.
LEAVE_SECONDS = 10


class NotMounted(OSError):
    """A path that pods cannot see."""


def job_name(placement: str, rank: int | None = None) -> str:
    return f"mill-{placement}" if rank is None else f"mill-{placement}-{rank}"


def job(
    spec: Spec,
    directory: Path,
    options: KubernetesOptions,
    *,
    user: tuple[int, int],
    gpu_resource: str | None = None,
    node: str | None = None,
    claims: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, Any]:
    """`node` pins it there; `gpu_resource` is what that node calls its GPUs; `claims` are those on which mounts lie, by
    their source. Raises NotMounted.

    Of a distributed job, that of the rank whose spec this is.
    """
    rank = spec.gang["rank"] if spec.gang else None
    labels = {
        **MANAGED,
        PLACEMENT: spec.placement,
        "millpond.dev/job": spec.job,
        "millpond.dev/project": spec.project,
        **({} if rank is None else {RANK: str(rank)}),
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": job_name(spec.placement, rank), "labels": labels},
        "spec": {
            # One pod, once: whether a job is tried again is for the server to say. A pod that Kubernetes makes in
            # place of one that was deleted finds the claim and leaves at once.
            "backoffLimit": 0,
            "ttlSecondsAfterFinished": KEPT_SECONDS,
            "template": {
                "metadata": {"labels": labels},
                "spec": _pod(spec, directory, options, claims, user=user, gpu_resource=gpu_resource, node=node),
            },
        },
    }


def _pod(
    spec: Spec,
    directory: Path,
    options: KubernetesOptions,
    claims: Mapping[str, str],
    *,
    user: tuple[int, int],
    gpu_resource: str | None,
    node: str | None,
) -> dict[str, Any]:
    own = [Mount(spec.scratch, spec.scratch, writable=True)] if spec.scratch else []
    volumes, mounts = _volumes([*spec.inputs, *spec.mounts, *own], directory, options.sources, claims)
    pod: dict[str, Any] = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": math.ceil(spec.grace_seconds) + LEAVE_SECONDS,
        # A job has no business with the cluster's API, and its environment is its own.
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": pod_security(user, claims=bool(claims)),
        "volumes": [*volumes, {"name": "shm", "emptyDir": {"medium": "Memory"}}],
        "containers": [
            {
                "name": "job",
                "image": spec.image or options.image,
                "imagePullPolicy": "IfNotPresent",
                "command": [options.python, "-I", "-S", "-B", str(directory / KEEPER), str(_keepers(spec, directory))],
                **({"env": [_ADDRESS]} if spec.gang or spec.asked.service or spec.starter else {}),
                "resources": _resources(spec, gpu_resource),
                "securityContext": _container_security(user),
                # Programs that share tensors between processes need more than the 64 MB of a container's own.
                "volumeMounts": [*mounts, {"name": "shm", "mountPath": "/dev/shm"}],
                "terminationMessagePolicy": "FallbackToLogsOnError",
            }
        ],
    }
    chosen: Mapping[str, Any] = {
        "imagePullSecrets": [{"name": name} for name in options.pull_secret],
        "nodeSelector": options.selector,
        "tolerations": options.tolerations,
        "serviceAccountName": options.service_account,
        "runtimeClassName": options.runtime_class,
        "affinity": on_node(node) if node else None,
        **_name(spec),
    }
    return {**pod, **{field: value for field, value in chosen.items() if value}}


def pod_security(user: tuple[int, int], *, claims: bool) -> dict[str, Any]:
    """A new claim belongs to root: its group is that of the user, where the storage can do so."""
    found: dict[str, Any] = {"runAsUser": user[0], "runAsGroup": user[1]}
    found["seccompProfile"] = {"type": "RuntimeDefault"}
    if user[0]:
        found["runAsNonRoot"] = True
    if claims and user[1]:
        found |= {"fsGroup": user[1], "fsGroupChangePolicy": "OnRootMismatch"}
    return found


def _container_security(user: tuple[int, int]) -> dict[str, Any]:
    """As the Pod Security Standard "restricted" asks for. Root would lose rights that it uses."""
    found: dict[str, Any] = {"allowPrivilegeEscalation": False}
    return {**found, "capabilities": {"drop": ["ALL"]}} if user[0] else found


def _keepers(spec: Spec, directory: Path) -> Path:
    """Where the keeper works."""
    return directory / RANKS / str(spec.gang["rank"]) if spec.gang else directory


def _name(spec: Spec) -> dict[str, str]:
    """A rank has a name below that of the job's Service."""
    return {"hostname": f"rank-{spec.gang['rank']}", "subdomain": job_name(spec.placement)} if spec.gang else {}


def _volumes(
    wanted: Sequence[Mount], directory: Path, sources: Sequence[PodSource], claims: Mapping[str, str]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The placement's directory to write, each input to read, mounts, and nothing else of the volumes they lie on.

    What lies on a claim of its own is the directory `tree` of that.
    """
    own = Mount(str(directory), str(directory), writable=True)
    volumes, mounts = mounts_of([own, *(one for one in wanted if one.source not in claims)], sources)
    for number, one in enumerate(one for one in wanted if one.source in claims):
        name = f"claim{number}"
        volumes.append({"name": name, "persistentVolumeClaim": {"claimName": claims[one.source]}})
        mount = {"name": name, "mountPath": one.target, "readOnly": not one.writable}
        mounts.append({**mount, "subPath": CLAIM_TREE})
    return volumes, mounts


def mounts_of(
    wanted: Sequence[Mount], sources: Sequence[PodSource]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Volumes of a pod, and where its container has them. NotMounted for a path that lies on none of the sources."""
    volumes: dict[str, dict[str, Any]] = {}
    mounts: list[dict[str, Any]] = []
    for one in wanted:
        number, within, volume = _find(Path(one.source), sources)
        name = f"v{number}"
        volumes[name] = {"name": name, **volume}
        mount = {"name": name, "mountPath": one.target, "readOnly": not one.writable}
        mounts.append({**mount, "subPath": within} if within else mount)
    return list(volumes.values()), mounts


def _find(path: Path, sources: Sequence[PodSource]) -> tuple[int, str, dict[str, Any]]:
    for number, source in enumerate(sources):
        within = source.sub_path(path)
        if within is not None:
            return number, within, source.volume
    raise NotMounted(f"pods cannot see {path}: start the agent with --option mount={path.parent}=pvc:CLAIM")


def _resources(spec: Spec, gpu_resource: str | None) -> dict[str, Any]:
    """What was asked for is both reserved and the limit; what was not is neither."""
    asked: dict[str, str] = {}
    if spec.asked.cpu:
        asked["cpu"] = str(spec.asked.cpu)
    if spec.asked.memory_bytes:
        asked["memory"] = str(spec.asked.memory_bytes)
    if spec.asked.gpu_hundredths and gpu_resource:
        asked[gpu_resource] = str(spec.asked.gpu_hundredths // 100)
    return {"requests": asked, "limits": asked} if asked else {}


def on_node(node: str) -> dict[str, Any]:
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
