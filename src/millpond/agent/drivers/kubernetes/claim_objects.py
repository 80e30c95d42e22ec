"""What is asked of the API server for workspaces that are claims: pure functions of what is wanted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from millpond.agent.drivers.claims import ClaimProgram, Named, NewClaim, StorageClass
from millpond.agent.drivers.kubernetes.manifest import MANAGED, mounts_of, on_node, pod_security
from millpond.agent.drivers.kubernetes.options import KubernetesOptions

Object = dict[str, Any]

WORKSPACE_NAME = "millpond.dev/workspace-name"
SNAPSHOT_GROUP = "snapshot.storage.k8s.io"
_DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
_DEFAULT_SNAPSHOTS = "snapshot.storage.kubernetes.io/is-default-class"
# What an agent leaves behind that never comes back goes after this time.
_KEPT_SECONDS = 3600


def claim(wanted: NewClaim) -> Object:
    spec: Object = {
        "accessModes": ["ReadWriteMany" if wanted.many_nodes else "ReadWriteOnce"],
        "storageClassName": wanted.storage_class,
        "resources": {"requests": {"storage": str(wanted.size_bytes)}},
    }
    if wanted.origin is not None:
        spec["dataSource"] = _origin(wanted.origin)
    about = {"name": wanted.name.name, "labels": {**MANAGED, **wanted.labels}}
    notes = {"annotations": {WORKSPACE_NAME: wanted.workspace}}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {**about, **notes}, "spec": spec}


def _origin(origin: Named) -> Object:
    if origin.kind == "snapshot":
        return {"apiGroup": SNAPSHOT_GROUP, "kind": "VolumeSnapshot", "name": origin.name}
    return {"kind": "PersistentVolumeClaim", "name": origin.name}


def snapshot(version: str, name: Named, of: Named, snapshot_class: str, labels: Mapping[str, str]) -> Object:
    """`version` is that of the group which the API server prefers."""
    source = {"persistentVolumeClaimName": of.name}
    return {
        "apiVersion": version,
        "kind": "VolumeSnapshot",
        "metadata": {"name": name.name, "labels": {**MANAGED, **labels}},
        "spec": {"volumeSnapshotClassName": snapshot_class, "source": source},
    }


def program(
    wanted: ClaimProgram, options: KubernetesOptions, *, user: tuple[int, int], node: str | None
) -> Object:  # fmt: skip
    """The Job that runs it; `node` is where one of its claims is mounted already."""
    volumes, mounts = mounts_of(wanted.mounts, options.sources)
    for number, one in enumerate(wanted.claims):
        source = {"claimName": one.name.name, "readOnly": False}
        volumes.append({"name": f"claim{number}", "persistentVolumeClaim": source})
        mounts.append({"name": f"claim{number}", "mountPath": one.target, "readOnly": not one.writable})
    volumes.append({"name": "tmp", "emptyDir": {}})
    mounts.append({"name": "tmp", "mountPath": "/tmp"})
    image = options.workspace_image or options.image
    closed = {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    container = {
        "name": "workspace",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": [options.python, "-B", "-m", wanted.module, *wanted.arguments],
        "env": [{"name": "HOME", "value": "/tmp"}],
        "securityContext": closed,
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}},
        "volumeMounts": mounts,
        "terminationMessagePolicy": "FallbackToLogsOnError",
    }
    pod: Object = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 2,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": pod_security(user, claims=True),
        "volumes": volumes,
        "containers": [container],
        "imagePullSecrets": [{"name": name} for name in options.pull_secret],
        "nodeSelector": options.selector,
        "tolerations": options.tolerations,
        "initContainers": _fixing(wanted, image, user) if options.fix_claims else [],
        "affinity": on_node(node) if node else None,
    }
    labels = {**MANAGED, **wanted.labels}
    template = {"metadata": {"labels": labels}, "spec": {key: value for key, value in pod.items() if value}}
    spec = {"backoffLimit": 0, "ttlSecondsAfterFinished": _KEPT_SECONDS, "template": template}
    metadata = {"name": wanted.name.name, "labels": labels}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


def _fixing(wanted: ClaimProgram, image: str, user: tuple[int, int]) -> list[Object]:
    """The one container that is root, where storage ignores fsGroup."""
    places = {f"claim{number}": one.target for number, one in enumerate(wanted.claims) if one.writable}
    if not places:
        return []
    rights = {"drop": ["ALL"], "add": ["CHOWN"]}
    security = {
        "runAsUser": 0,
        "runAsNonRoot": False,
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
    }
    return [
        {
            "name": "permissions",
            "image": image,
            "imagePullPolicy": "IfNotPresent",
            "command": ["chown", f"{user[0]}:{user[1]}", *places.values()],
            "securityContext": {**security, "capabilities": rights},
            "volumeMounts": [{"name": name, "mountPath": path} for name, path in places.items()],
        }
    ]


def classes(
    found: Sequence[Object], drivers: Sequence[Object] | None, snapshots: Sequence[Object] | None
) -> list[StorageClass]:
    """What StorageClasses, CSIDrivers and VolumeSnapshotClasses say together; None: the agent may not list them, or the
    cluster does not know the kind."""
    csi = {one["metadata"]["name"] for one in drivers or ()}
    return [_class(one, csi, snapshots) for one in found]


def _class(one: Object, csi: set[str], snapshots: Sequence[Object] | None) -> StorageClass:
    provisioner = one["provisioner"]
    fitting = [each for each in snapshots or () if each["driver"] == provisioner]
    fitting.sort(key=lambda each: (not _is_default(each, _DEFAULT_SNAPSHOTS), each["metadata"]["name"]))
    problem = ""
    if snapshots is None:
        problem = "the cluster has no VolumeSnapshots"
    elif not fitting:
        problem = f"no VolumeSnapshotClass is for {provisioner}"
    return StorageClass(
        name=one["metadata"]["name"],
        provisioner=provisioner,
        is_default=_is_default(one, _DEFAULT_CLASS),
        expands=bool(one.get("allowVolumeExpansion")),
        # Only CSI drivers clone; whether this one does shows when it is tried.
        clones=provisioner in csi,
        snapshot_class=fitting[0]["metadata"]["name"] if fitting else "",
        snapshot_problem=problem,
    )


def _is_default(one: Object, annotation: str) -> bool:
    return (one["metadata"].get("annotations") or {}).get(annotation) == "true"
