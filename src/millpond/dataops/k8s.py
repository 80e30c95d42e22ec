"""`netapp_dataops.k8s`, on workspaces: a claim is a workspace, a namespace a project, a storage class a volume.

Arguments about Kubernetes objects are taken and without effect; Millpond runs on clusters and without one.
"""

from __future__ import annotations

from typing import Any

from millpond.client.workspace import Workspace
from millpond.dataops import common
from millpond.dataops.errors import (
    APIConnectionError,
    InvalidConfigError,
    InvalidSnapshotParameterError,
    InvalidVolumeParameterError,
    NotSupported,
    ServiceUnavailableError,
    told_as,
)
from millpond.dataops.jupyter import (
    Lab,
    clone_jupyter_lab,
    create_jupyter_lab,
    delete_jupyter_lab,
    list_jupyter_labs,
    restore_jupyter_lab,
)
from millpond.dataops.old_names import KUBERNETES_NAMES
from millpond.dataops.verbs_kubernetes import KUBERNETES

__all__ = [
    "APIConnectionError",
    "InvalidConfigError",
    "InvalidSnapshotParameterError",
    "InvalidVolumeParameterError",
    "NotSupported",
    "ServiceUnavailableError",
    "clone_jupyter_lab",
    "clone_volume",
    "create_jupyter_lab",
    "create_jupyter_lab_snapshot",
    "create_volume",
    "create_volume_snapshot",
    "delete_jupyter_lab",
    "delete_volume",
    "delete_volume_snapshot",
    "list_jupyter_lab_snapshots",
    "list_jupyter_labs",
    "list_volume_snapshots",
    "list_volumes",
    "restore_jupyter_lab_snapshot",
    "restore_volume_snapshot",
]

_CLASS = "csi-snapclass"


def create_volume(
    pvc_name: str, volume_size: str, storage_class: str | None = None, namespace: str = "default",
    print_output: bool = False, pvc_labels: dict[str, str] | None = None, source_snapshot: str | None = None,
    source_pvc: str | None = None,
) -> None:  # fmt: skip
    """A workspace of this size on the volume `storage_class`, or a claim of that class; with a source, a clone."""
    if source_snapshot or source_pvc:
        clone_volume(pvc_name, source_pvc or "", source_snapshot, namespace=namespace, print_output=print_output)
        return
    common.say(print_output, f"Creating volume {pvc_name}.")
    with told_as(InvalidVolumeParameterError):
        common.create_on(pvc_name, volume_size, storage_class, common.project_of(namespace))
    common.say(print_output, f"Volume {pvc_name} created.")


def clone_volume(
    new_pvc_name: str, source_pvc_name: str, source_snapshot_name: str | None = None,
    volume_snapshot_class: str = _CLASS, namespace: str = "default", print_output: bool = False,
    pvc_labels: dict[str, str] | None = None,
) -> None:  # fmt: skip
    """A workspace with the content of another, or of a snapshot, which is known by its name alone."""
    project = common.project_of(namespace)
    with told_as(InvalidVolumeParameterError):
        if source_pvc_name:
            source = Workspace(source_pvc_name, project=project)
        elif source_snapshot_name:
            source, _ = common.find_snapshot(source_snapshot_name, project)
        else:
            raise InvalidVolumeParameterError("Give source_pvc_name or source_snapshot_name.")
        common.say(print_output, f"Cloning volume {source.name} to {new_pvc_name}.")
        source.clone(new_pvc_name, snapshot=source_snapshot_name)
    common.say(print_output, f"Volume {new_pvc_name} cloned.")


def delete_volume(
    pvc_name: str, namespace: str = "default", preserve_snapshots: bool = False, print_output: bool = False
) -> None:
    """Move a workspace to the bin with its snapshots, for 30 days."""
    with told_as(InvalidVolumeParameterError):
        Workspace(pvc_name, project=common.project_of(namespace)).remove()
    common.say(print_output, f"Volume {pvc_name} moved to the bin. Restore it: mill workspace undelete {pvc_name}")


def list_volumes(namespace: str = "default", print_output: bool = False) -> list[dict[str, Any]]:
    with told_as(InvalidVolumeParameterError):
        found = Workspace.list(project=common.project_of(namespace))
    rows = []
    for info in found:
        source, snapshot = common.source_of(info)
        rows.append(
            {
                "PersistentVolumeClaim (PVC) Name": info.name,
                "Status": "Bound" if info.state.value == "ready" else info.state.value.capitalize(),
                "Size": common.size_of(info),
                "StorageClass": info.volume,
                "Clone": "Yes" if source else "No",
                "Source PVC": source,
                "Source VolumeSnapshot": snapshot or ("n/a" if source else ""),
            }
        )
    common.print_table(rows, print_output=print_output)
    return rows


def create_volume_snapshot(
    pvc_name: str, snapshot_name: str | None = None, volume_snapshot_class: str = _CLASS, namespace: str = "default",
    print_output: bool = False,
) -> None:  # fmt: skip
    with told_as(InvalidSnapshotParameterError):
        workspace = Workspace(pvc_name, project=common.project_of(namespace))
        taken = workspace.snapshot(snapshot_name or common.snapshot_name())
    common.say(print_output, f"Snapshot {taken.name} of volume {pvc_name} created.")


def list_volume_snapshots(
    pvc_name: str | None = None, namespace: str = "default", print_output: bool = False,
    jupyter_lab_workspaces_only: bool = False,
) -> list[dict[str, Any]]:  # fmt: skip
    project = common.project_of(namespace)
    with told_as(InvalidSnapshotParameterError):
        names = [pvc_name] if pvc_name else [one.name for one in Workspace.list(project=project) if one.usable]
        rows = [
            {
                "VolumeSnapshot Name": one.name,
                "Ready to Use": one.near or one.commit is not None,
                "Creation Time": (one.taken_at or one.created_at).isoformat(),
                "Source PersistentVolumeClaim (PVC)": name,
                "Source JupyterLab workspace": name,
                "VolumeSnapshotClass": "",
            }
            for name in names
            for one in Workspace(name, project=project).snapshots()
        ]
    common.print_table(rows, print_output=print_output)
    return rows


def restore_volume_snapshot(
    snapshot_name: str, namespace: str = "default", print_output: bool = False,
    pvc_labels: dict[str, str] | None = None,
) -> None:  # fmt: skip
    """Put a snapshot in the place of what is there, which is kept as a snapshot first."""
    with told_as(InvalidSnapshotParameterError):
        workspace, _ = common.find_snapshot(snapshot_name, common.project_of(namespace))
        workspace.restore(snapshot_name)
    common.say(print_output, f"Snapshot {snapshot_name} restored on volume {workspace.name}.")


def delete_volume_snapshot(snapshot_name: str, namespace: str = "default", print_output: bool = False) -> None:
    with told_as(InvalidSnapshotParameterError):
        workspace, _ = common.find_snapshot(snapshot_name, common.project_of(namespace))
        workspace.delete_snapshot(snapshot_name)
    common.say(print_output, f"Snapshot {snapshot_name} of volume {workspace.name} deleted.")


def create_jupyter_lab_snapshot(
    workspace_name: str, snapshot_name: str | None = None, volume_snapshot_class: str = _CLASS,
    namespace: str = "default", print_output: bool = False,
) -> None:  # fmt: skip
    """A snapshot of a workspace, while JupyterLab goes on in it."""
    create_volume_snapshot(
        workspace_name, snapshot_name, volume_snapshot_class, namespace=namespace, print_output=print_output
    )


def list_jupyter_lab_snapshots(
    workspace_name: str | None = None, namespace: str = "default", print_output: bool = False
) -> list[dict[str, Any]]:
    return list_volume_snapshots(workspace_name, namespace=namespace, print_output=print_output)


def restore_jupyter_lab_snapshot(snapshot_name: str, namespace: str = "default", print_output: bool = False) -> None:
    """End JupyterLab, put the snapshot in the place of what is there, and open it again."""
    with told_as(InvalidSnapshotParameterError):
        workspace, _ = common.find_snapshot(snapshot_name, common.project_of(namespace))
        restore_jupyter_lab(Lab(namespace), workspace, snapshot_name)
    common.say(print_output, f"Snapshot {snapshot_name} restored in workspace {workspace.name}.")


def __getattr__(name: str) -> Any:
    """Functions by the names that they had before, and those that are refused."""
    return common.find_function(name, globals(), old=KUBERNETES_NAMES, verbs=KUBERNETES)
