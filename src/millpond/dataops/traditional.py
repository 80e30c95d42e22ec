"""`netapp_dataops.traditional`, on workspaces. Arguments about ONTAP are taken and without effect."""

from __future__ import annotations

from typing import Any

from millpond.client.workspace import Workspace
from millpond.dataops import common
from millpond.dataops.errors import (
    APIConnectionError,
    CloudSyncSyncOperationError,
    ConnectionTypeError,
    InvalidConfigError,
    InvalidSnapMirrorParameterError,
    InvalidSnapshotParameterError,
    InvalidVolumeParameterError,
    MountOperationError,
    NotSupported,
    SnapMirrorSyncOperationError,
    told_as,
)
from millpond.dataops.mirrors import (
    create_snap_mirror_relationship,
    list_cloud_sync_relationships,
    list_snap_mirror_relationships,
    sync_cloud_sync_relationship,
    sync_snap_mirror_relationship,
)
from millpond.dataops.old_names import TRADITIONAL_NAMES
from millpond.dataops.s3 import (
    pull_bucket_from_s3,
    pull_object_from_s3,
    push_directory_to_s3,
    push_file_to_s3,
)
from millpond.dataops.verbs_traditional import TRADITIONAL
from millpond.model.quantity import format_bytes
from millpond.wire.workspace_views import Workspace as WorkspaceInfo

__all__ = [
    "APIConnectionError",
    "CloudSyncSyncOperationError",
    "ConnectionTypeError",
    "InvalidConfigError",
    "InvalidSnapMirrorParameterError",
    "InvalidSnapshotParameterError",
    "InvalidVolumeParameterError",
    "MountOperationError",
    "NotSupported",
    "SnapMirrorSyncOperationError",
    "clone_volume",
    "create_snap_mirror_relationship",
    "create_snapshot",
    "create_volume",
    "delete_snapshot",
    "delete_volume",
    "get_volume",
    "list_cloud_sync_relationships",
    "list_snap_mirror_relationships",
    "list_snapshots",
    "list_volumes",
    "mount_volume",
    "pull_bucket_from_s3",
    "pull_object_from_s3",
    "push_directory_to_s3",
    "push_file_to_s3",
    "restore_snapshot",
    "sync_cloud_sync_relationship",
    "sync_snap_mirror_relationship",
    "unmount_volume",
]


def create_volume(
    volume_name: str, volume_size: str, guarantee_space: bool = False, cluster_name: str | None = None,
    svm_name: str | None = None, volume_type: str | None = None, unix_permissions: str | None = None,
    unix_uid: str | None = None, unix_gid: str | None = None, export_policy: str | None = None,
    snaplock_type: str | None = None, snapshot_policy: str | None = None, aggregate: str | None = None,
    mountpoint: str | None = None, junction: str | None = None, readonly: bool = False, print_output: bool = False,
    tiering_policy: str | None = None, vol_dp: bool = False,
) -> None:  # fmt: skip
    """A new workspace of this size, which is always reserved. `mountpoint` shows it there, by a link."""
    ignored = {
        "cluster_name": cluster_name, "svm_name": svm_name, "volume_type": volume_type, "unix_uid": unix_uid,
        "unix_permissions": unix_permissions, "unix_gid": unix_gid, "export_policy": export_policy,
        "snaplock_type": snaplock_type, "snapshot_policy": snapshot_policy, "aggregate": aggregate,
        "junction": junction, "tiering_policy": tiering_policy, "vol_dp": vol_dp, "readonly": readonly,
    }  # fmt: skip
    common.tell_ignored(print_output, ignored)
    common.say(print_output, f"Creating volume {volume_name}.")
    with told_as(InvalidVolumeParameterError):
        made = Workspace.create(common.workspace_name(volume_name, print_output=print_output), volume_size)
    common.say(print_output, f"Volume {volume_name} created.")
    common.mount(made, mountpoint, print_output=print_output)


def clone_volume(
    new_volume_name: str, source_volume_name: str, cluster_name: str | None = None,
    source_snapshot_name: str | None = None, source_svm: str | None = None, target_svm: str | None = None,
    export_hosts: str | None = None, export_policy: str | None = None, split: bool = False,
    unix_uid: str | None = None, unix_gid: str | None = None, mountpoint: str | None = None,
    junction: str | None = None, readonly: bool = False, snapshot_policy: str | None = None, refresh: bool = False,
    svm_dr_unprotect: bool = False, print_output: bool = False,
) -> None:  # fmt: skip
    """A workspace with the content of another, as it is now or as in a snapshot (`daily*`: the newest that matches).

    `refresh` replaces the content of a clone that is there, after a snapshot of it.
    """
    ignored = {
        "cluster_name": cluster_name, "source_svm": source_svm, "target_svm": target_svm, "split": split,
        "export_hosts": export_hosts, "export_policy": export_policy, "unix_uid": unix_uid, "unix_gid": unix_gid,
        "junction": junction, "snapshot_policy": snapshot_policy, "svm_dr_unprotect": svm_dr_unprotect,
    }  # fmt: skip
    common.tell_ignored(print_output, ignored)
    common.say(print_output, f"Cloning volume {source_volume_name} to {new_volume_name}.")
    with told_as(InvalidVolumeParameterError):
        source = Workspace(common.workspace_name(source_volume_name))
        name = common.workspace_name(new_volume_name, print_output=print_output)
        exists = any(one.name == name for one in Workspace.list())
        made = source.clone(name, snapshot=source_snapshot_name, read_only=readonly, refresh=refresh and exists)
    common.say(print_output, f"Volume {new_volume_name} cloned.")
    common.mount(made, mountpoint, print_output=print_output)


def delete_volume(
    volume_name: str, cluster_name: str | None = None, svm_name: str | None = None, delete_mirror: bool = False,
    delete_non_clone: bool = False, print_output: bool = False,
) -> None:  # fmt: skip
    """Move a workspace to the bin, for 30 days."""
    common.tell_ignored(
        print_output, {"cluster_name": cluster_name, "svm_name": svm_name, "delete_mirror": delete_mirror}
    )
    with told_as(InvalidVolumeParameterError):
        name = common.workspace_name(volume_name)
        Workspace(name).remove()
    common.say(print_output, f"Volume {volume_name} moved to the bin. Restore it: mill workspace undelete {name}")


def list_volumes(
    check_local_mounts: bool = False, include_space_usage_details: bool = False, print_output: bool = False,
    cluster_name: str | None = None, svm_name: str | None = None,
) -> list[dict[str, Any]]:  # fmt: skip
    """Workspaces, with the toolkit's columns."""
    with told_as(InvalidVolumeParameterError):
        found = Workspace.list()
    rows = [_row(one, space=include_space_usage_details, mounts=check_local_mounts) for one in found]
    common.print_table(rows, print_output=print_output)
    return rows


def get_volume(volume_name: str, print_output: bool = False) -> dict[str, Any]:
    with told_as(InvalidVolumeParameterError):
        row = _row(Workspace(common.workspace_name(volume_name)).info, space=True, mounts=False)
    common.print_table([row], print_output=print_output)
    return row


def mount_volume(
    volume_name: str, mountpoint: str, cluster_name: str | None = None, svm_name: str | None = None,
    mount_options: str | None = None, lif_name: str | None = None, readonly: bool = False, print_output: bool = False,
) -> None:  # fmt: skip
    """Show a workspace at `mountpoint`, by a link, where this machine has its volume."""
    common.tell_ignored(
        print_output, {"mount_options": mount_options, "lif_name": lif_name, "readonly": readonly, "svm_name": svm_name}
    )
    with told_as(InvalidVolumeParameterError):
        found = Workspace(common.workspace_name(volume_name))
    common.mount(found, mountpoint, print_output=print_output)


def unmount_volume(mountpoint: str, print_output: bool = False) -> None:
    common.unmount(mountpoint, print_output=print_output)


def create_snapshot(
    volume_name: str, cluster_name: str | None = None, svm_name: str | None = None, snapshot_name: str | None = None,
    retention_count: int = 0, retention_days: bool = False, snapmirror_label: str | None = None,
    print_output: bool = False,
) -> None:  # fmt: skip
    """Freeze a workspace. With a retention the name is that of a series, whose older snapshots go."""
    common.tell_ignored(print_output, {"cluster_name": cluster_name, "svm_name": svm_name})
    keep = f"{retention_count}{'d' if retention_days else ''}" if retention_count else None
    with told_as(InvalidSnapshotParameterError):
        taken = Workspace(common.workspace_name(volume_name)).snapshot(
            snapshot_name or snapmirror_label or (None if keep else common.snapshot_name()), keep=keep
        )
    common.say(print_output, f"Snapshot {taken.name} of volume {volume_name} created.")


def list_snapshots(
    volume_name: str, cluster_name: str | None = None, svm_name: str | None = None, print_output: bool = False
) -> list[dict[str, Any]]:
    with told_as(InvalidSnapshotParameterError):
        found = Workspace(common.workspace_name(volume_name)).snapshots()
    rows = [{"Snapshot Name": one.name, "Create Time": (one.taken_at or one.created_at).isoformat()} for one in found]
    common.print_table(rows, print_output=print_output)
    return rows


def restore_snapshot(
    volume_name: str, snapshot_name: str, cluster_name: str | None = None, svm_name: str | None = None,
    print_output: bool = False,
) -> None:  # fmt: skip
    """Put a snapshot in the place of what is there, which is kept as a snapshot first."""
    with told_as(InvalidSnapshotParameterError):
        Workspace(common.workspace_name(volume_name)).restore(snapshot_name)
    common.say(print_output, f"Snapshot {snapshot_name} restored on volume {volume_name}.")


def delete_snapshot(
    volume_name: str, snapshot_name: str, cluster_name: str | None = None, svm_name: str | None = None,
    skip_owned: bool = False, print_output: bool = False,
) -> None:  # fmt: skip
    with told_as(InvalidSnapshotParameterError):
        Workspace(common.workspace_name(volume_name)).delete_snapshot(snapshot_name)
    common.say(print_output, f"Snapshot {snapshot_name} of volume {volume_name} deleted.")


def __getattr__(name: str) -> Any:
    """Functions by the names that they had before, and those that are refused."""
    return common.find_function(name, globals(), old=TRADITIONAL_NAMES, verbs=TRADITIONAL)


def _row(info: WorkspaceInfo, *, space: bool, mounts: bool) -> dict[str, Any]:
    source, snapshot = common.source_of(info)
    row: dict[str, Any] = {"Volume Name": info.name, "Size": common.size_of(info)}
    if space:
        row |= {
            "Snap Reserve": "0%",
            "Capacity": common.size_of(info),
            "Usage": format_bytes(info.used_bytes),
            "Footprint": format_bytes(info.unique_bytes),
        }
    row |= {"Type": info.how.value, "NFS Mount Target": f"{info.site}:{info.path}"}
    if mounts:
        row["Local Mountpoint"] = info.path if common.is_here(info) else ""
    return row | {
        "Clone": "yes" if source else "no",
        "Source SVM": "",
        "Source Volume": source,
        "Source Snapshot": snapshot,
    }
