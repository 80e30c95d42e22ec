"""The names that functions and arguments of the toolkit had before, like `createVolume(volumeName="a")`: scripts and
examples of the toolkit still have them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

# The arguments in their old order, which differs from that of today.
TRADITIONAL_NAMES = {
    "cloneVolume": "newVolumeName sourceVolumeName sourceSnapshotName unixUID unixGID mountpoint printOutput",
    "createSnapshot": "volumeName snapshotName printOutput",
    "createVolume": "volumeName volumeSize guaranteeSpace volumeType unixPermissions unixUID unixGID exportPolicy "
    "snapshotPolicy aggregate mountpoint printOutput",
    "deleteSnapshot": "volumeName snapshotName printOutput",
    "deleteVolume": "volumeName printOutput",
    "listCloudSyncRelationships": "printOutput",
    "listSnapMirrorRelationships": "printOutput",
    "listSnapshots": "volumeName printOutput",
    "listVolumes": "checkLocalMounts includeSpaceUsageDetails printOutput",
    "mountVolume": "volumeName mountpoint printOutput",
    "prepopulateFlexCache": "volumeName paths printOutput",
    "restoreSnapshot": "volumeName snapshotName printOutput",
    "syncCloudSyncRelationship": "relationshipID waitUntilComplete printOutput",
    "syncSnapMirrorRelationship": "uuid waitUntilComplete printOutput",
    "unmountVolume": "mountpoint printOutput",
}

_SNAPSHOT = "snapshotName volumeSnapshotClass namespace printOutput"
_REQUESTS = "requestCpu requestMemory requestNvidiaGpu printOutput"

KUBERNETES_NAMES = {
    "cloneJupyterLab": "newWorkspaceName sourceWorkspaceName sourceSnapshotName newWorkspacePassword "
    f"volumeSnapshotClass namespace {_REQUESTS}",
    "cloneVolume": "newPvcName sourcePvcName sourceSnapshotName volumeSnapshotClass namespace printOutput pvcLabels",
    "createJupyterLab": "workspaceName workspaceSize storageClass namespace workspacePassword workspaceImage "
    f"{_REQUESTS} pvcAlreadyExists labels",
    "createJupyterLabSnapshot": f"workspaceName {_SNAPSHOT}",
    "createVolume": "pvcName volumeSize storageClass namespace printOutput pvcLabels sourceSnapshot sourcePvc",
    "createVolumeSnapshot": f"pvcName {_SNAPSHOT}",
    "deleteJupyterLab": "workspaceName namespace preserveSnapshots printOutput",
    "deleteVolume": "pvcName namespace preserveSnapshots printOutput",
    "deleteVolumeSnapshot": "snapshotName namespace printOutput",
    "listJupyterLabSnapshots": "workspaceName namespace printOutput",
    "listJupyterLabs": "namespace printOutput",
    "listVolumeSnapshots": "pvcName namespace printOutput jupyterLabWorkspacesOnly",
    "listVolumes": "namespace printOutput",
    "restoreJupyterLabSnapshot": "snapshotName namespace printOutput",
    "restoreVolumeSnapshot": "snapshotName namespace printOutput pvcLabels",
}


def find_old(name: str, old: Mapping[str, str], functions: Mapping[str, Any]) -> Callable[..., Any] | None:
    """The function among `functions` that was called `name`, with its old arguments; None if none was."""
    arguments = old.get(name)
    function = functions.get(snake_case(name))
    if arguments is None or function is None:
        return None
    order = arguments.split()

    @wraps(function)
    def renamed(*given: Any, **named: Any) -> Any:
        if len(given) > len(order):
            raise TypeError(f"{name}() takes at most {len(order)} arguments, not {len(given)}")
        both = set(order[: len(given)]) & set(named)
        if both:
            raise TypeError(f"{name}() got several values for {min(both)!r}")
        known = dict(zip(order, given, strict=False)) | named
        return function(**{snake_case(argument): value for argument, value in known.items()})

    return renamed


def snake_case(name: str) -> str:
    """`relationshipID` as `relationship_id`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
