"""Every verb of the DataOps Toolkit, and what it is here: what `mill dataops` and its page in the docs are made of.

The toolkit's *volume* is a workspace, its *namespace* a project, its *storage class* a volume.
"""

from __future__ import annotations

from dataclasses import dataclass

_ARRAY = "It sets up a NetApp storage system, and there is none."


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a command, by the toolkit's long and short name. `ignored`: it says something about ONTAP alone."""

    long: str
    short: str = ""
    parameter: str = ""
    flag: bool = False
    ignored: bool = False

    @property
    def name(self) -> str:
        return self.parameter or self.long.replace("-", "_")


@dataclass(frozen=True, slots=True)
class Verb:
    """`command` as it is typed, `function` as it is imported. `here` is what it comes to; None: `refused` says why."""

    command: str
    function: str
    here: str | None
    options: tuple[Option, ...] = ()
    refused: str = ""


def _o(long: str, short: str = "", parameter: str = "", *, flag: bool = False, ignored: bool = False) -> Option:
    return Option(long, short, parameter, flag, ignored)


def _ignored(*names: str) -> tuple[Option, ...]:
    return tuple(_o(name, ignored=True) for name in names)


_ONTAP = _ignored("cluster-name", "svm")
_MOUNT = (_o("mountpoint", "m"), _o("readonly", "r", flag=True))

TRADITIONAL = (
    Verb("config", "", None, refused="There is nothing to set up: run `mill login` once."),
    Verb(
        "create volume",
        "create_volume",
        "mill workspace create NAME --size SIZE",
        (
            _o("name", "n", "volume_name"),
            _o("size", "s", "volume_size"),
            *_MOUNT,
            _o("guarantee-space", "g", flag=True),
            *_ONTAP,
            *_ignored("type", "permissions", "uid", "gid", "export-policy", "snapshot-policy", "aggregate", "junction"),
            *_ignored("tiering-policy", "snaplock-type"),
            _o("dp", flag=True, ignored=True),
        ),
    ),
    Verb(
        "clone volume",
        "clone_volume",
        "mill workspace clone SOURCE[@SNAPSHOT] NAME",
        (
            _o("name", "n", "new_volume_name"),
            _o("source-volume", "v", "source_volume_name"),
            _o("source-snapshot", "s", "source_snapshot_name"),
            *_MOUNT,
            _o("refresh", flag=True),
            *_ONTAP,
            *_ignored("source-svm", "target-svm", "uid", "gid", "export-hosts", "export-policy", "junction"),
            *_ignored("snapshot-policy"),
            _o("split", flag=True, ignored=True),
            _o("svm-dr-unprotect", flag=True, ignored=True),
        ),
    ),
    Verb(
        "delete volume",
        "delete_volume",
        "mill workspace rm NAME",
        (
            _o("name", "n", "volume_name"),
            _o("force", "f", flag=True),
            _o("delete-mirror", flag=True, ignored=True),
            _o("delete-non-clone", flag=True, ignored=True),
            *_ONTAP,
        ),
    ),
    Verb(
        "list volumes",
        "list_volumes",
        "mill workspace list --space",
        (_o("include-space-usage-details", "s", flag=True), *_ONTAP),
    ),
    Verb("get volume", "get_volume", "mill workspace show NAME", (_o("name", "n", "volume_name"), *_ONTAP)),
    Verb(
        "mount volume",
        "mount_volume",
        "mill workspace mount NAME DIRECTORY",
        (_o("name", "n", "volume_name"), *_MOUNT, *_ONTAP, *_ignored("lif", "options")),
    ),
    Verb("unmount volume", "unmount_volume", "umount DIRECTORY", (_o("mountpoint", "m"),)),
    Verb(
        "create snapshot",
        "create_snapshot",
        "mill workspace snapshot NAME [SNAPSHOT] --keep 7",
        (
            _o("volume", "v", "volume_name"),
            _o("name", "n", "snapshot_name"),
            _o("retention", "r"),
            _o("snapmirror-label", "l", "snapmirror_label"),
            *_ONTAP,
        ),
    ),
    Verb(
        "list snapshots",
        "list_snapshots",
        "mill workspace snapshots NAME",
        (_o("volume", "v", "volume_name"), *_ONTAP),
    ),
    Verb(
        "restore snapshot",
        "restore_snapshot",
        "mill workspace restore NAME@SNAPSHOT",
        (
            _o("volume", "v", "volume_name"),
            _o("name", "n", "snapshot_name"),
            _o("force", "f", flag=True),
            *_ONTAP,
        ),
    ),
    Verb(
        "delete snapshot",
        "delete_snapshot",
        "mill workspace rm NAME@SNAPSHOT",
        (_o("volume", "v", "volume_name"), _o("name", "n", "snapshot_name"), _o("force", "f", flag=True), *_ONTAP),
    ),
    Verb(
        "pull-from-s3 bucket",
        "pull_bucket_from_s3",
        None,
        refused="Fetch it in a job that has the workspace: `mill submit --workspace NAME:/workspace`.",
    ),
    Verb(
        "pull-from-s3 object",
        "pull_object_from_s3",
        None,
        refused="Fetch it in a job that has the workspace: `mill submit --workspace NAME:/workspace`.",
    ),
    Verb(
        "push-to-s3 directory",
        "push_directory_to_s3",
        None,
        refused="Send it from a job that has the workspace: `mill submit --workspace NAME:/workspace`.",
    ),
    Verb(
        "push-to-s3 file",
        "push_file_to_s3",
        None,
        refused="Send it from a job that has the workspace: `mill submit --workspace NAME:/workspace`.",
    ),
    Verb(
        "list cloud-sync-relationships",
        "list_cloud_sync_relationships",
        None,
        refused="Imports on a schedule are sources: `mill source list`.",
    ),
    Verb(
        "sync cloud-sync-relationship",
        "sync_cloud_sync_relationship",
        None,
        refused="Imports on a schedule are sources: `mill source run NAME`.",
    ),
    Verb(
        "list snapmirror-relationships",
        "list_snap_mirror_relationships",
        None,
        refused="Copies of workspaces on a schedule do not exist yet. See `mill workspace snapshots`.",
    ),
    Verb(
        "create snapmirror-relationship",
        "create_snap_mirror_relationship",
        None,
        refused="Copies of workspaces on a schedule do not exist yet. Snapshots do: `mill workspace schedule`.",
    ),
    Verb(
        "sync snapmirror-relationship",
        "sync_snap_mirror_relationship",
        None,
        refused="Copies of workspaces on a schedule do not exist yet. Take a snapshot: `mill workspace snapshot NAME`.",
    ),
    *(
        Verb(command, function, None, refused=sentence)
        for command, function, sentence in (
            (
                "create flexcache",
                "create_flexcache",
                "Cache a commit beside the compute: `mill cache add DATASET@REF`.",
            ),
            ("list flexcaches", "list_flexcaches", "See what is cached: `mill cache list`."),
            ("get flexcache-origin", "get_flexcache_origin", "A cached commit names its dataset: `mill cache list`."),
            (
                "update flexcache",
                "update_flexcache",
                "A commit never changes; cache the next one: `mill cache add DATASET@REF`.",
            ),
            (
                "prepopulate flexcache",
                "prepopulate_flex_cache",
                "A commit is cached whole: `mill cache add DATASET@REF`.",
            ),
            ("create qtree", "create_qtree", f"{_ARRAY} Make a directory in the workspace, or another workspace."),
            ("list qtrees", "list_qtrees", f"{_ARRAY} Directories of a workspace are plain directories."),
            ("get qtree", "get_qtree", f"{_ARRAY} Directories of a workspace are plain directories."),
            ("get qtree-metrics", "get_qtree_metrics", f"{_ARRAY} See `mill workspace list --space`."),
            (
                "create cifs-share",
                "create_cifs_share",
                f"{_ARRAY} Workspaces are reached by jobs and at the path of their volume.",
            ),
            ("list cifs-shares", "list_cifs_shares", f"{_ARRAY} There are no shares to list."),
            ("get cifs-share", "get_cifs_share", f"{_ARRAY} There are no shares to show."),
        )
    ),
)

_NAMESPACE = _o("namespace", "n")
_CLASS = _o("volume-snapshot-class", "c", ignored=True)
_ASTRA = "Astra Control has ended. Snapshots are kept in the lake by themselves: `mill workspace snapshots NAME`."

KUBERNETES = (
    Verb(
        "create volume",
        "create_volume",
        "mill workspace create NAME --size SIZE --volume CLASS",
        (_o("pvc-name", "p"), _o("size", "s", "volume_size"), _o("storage-class", "c"), _NAMESPACE),
    ),
    Verb(
        "clone volume",
        "clone_volume",
        "mill workspace clone SOURCE[@SNAPSHOT] NAME",
        (
            _o("new-pvc-name", "p"),
            _o("source-pvc-name", "v"),
            _o("source-snapshot-name", "s"),
            _CLASS,
            _NAMESPACE,
        ),
    ),
    Verb(
        "delete volume",
        "delete_volume",
        "mill workspace rm NAME",
        (_o("pvc-name", "p"), _o("preserve-snapshots", "s", flag=True), _o("force", "f", flag=True), _NAMESPACE),
    ),
    Verb("list volumes", "list_volumes", "mill workspace list", (_NAMESPACE,)),
    Verb(
        "create volume-snapshot",
        "create_volume_snapshot",
        "mill workspace snapshot NAME [SNAPSHOT]",
        (_o("pvc-name", "p"), _o("snapshot-name", "s"), _CLASS, _NAMESPACE),
    ),
    Verb(
        "list volume-snapshots",
        "list_volume_snapshots",
        "mill workspace snapshots NAME",
        (_o("pvc-name", "p"), _NAMESPACE),
    ),
    Verb(
        "restore volume-snapshot",
        "restore_volume_snapshot",
        "mill workspace restore NAME@SNAPSHOT",
        (_o("snapshot-name", "s"), _o("force", "f", flag=True), _NAMESPACE),
    ),
    Verb(
        "delete volume-snapshot",
        "delete_volume_snapshot",
        "mill workspace rm NAME@SNAPSHOT",
        (_o("snapshot-name", "s"), _o("force", "f", flag=True), _NAMESPACE),
    ),
    Verb(
        "create jupyterlab",
        "create_jupyter_lab",
        None,
        refused="Create a workspace, then open it: `mill workspace open NAME --lab`.",
    ),
    Verb(
        "clone jupyterlab",
        "clone_jupyter_lab",
        None,
        refused="Clone the workspace, then open the clone: `mill workspace open NAME --lab`.",
    ),
    Verb(
        "delete jupyterlab",
        "delete_jupyter_lab",
        None,
        refused="Delete the workspace: `mill dataops k8s delete volume --pvc-name=NAME`.",
    ),
    Verb(
        "list jupyterlabs",
        "list_jupyter_labs",
        None,
        refused="See `mill workspace list`.",
    ),
    Verb(
        "create jupyterlab-snapshot",
        "create_volume_snapshot",
        "mill workspace snapshot NAME [SNAPSHOT]",
        (_o("workspace-name", "w", "pvc_name"), _o("snapshot-name", "s"), _CLASS, _NAMESPACE),
    ),
    Verb(
        "list jupyterlab-snapshots",
        "list_volume_snapshots",
        "mill workspace snapshots NAME",
        (_o("workspace-name", "w", "pvc_name"), _NAMESPACE),
    ),
    Verb(
        "restore jupyterlab-snapshot",
        "restore_volume_snapshot",
        "mill workspace restore NAME@SNAPSHOT",
        (_o("snapshot-name", "s"), _NAMESPACE),
    ),
    Verb(
        "delete jupyterlab-snapshot",
        "delete_volume_snapshot",
        "mill workspace rm NAME@SNAPSHOT",
        (_o("snapshot-name", "s"), _o("force", "f", flag=True), _NAMESPACE),
    ),
    *(
        Verb(command, function, None, refused=sentence)
        for command, function, sentence in (
            (
                "create triton-server",
                "create_triton_server",
                "Register the models, then serve them: `mill endpoint create NAME --model MODEL@VERSION`.",
            ),
            ("list triton-servers", "list_triton_servers", "See what is served: `mill endpoint list`."),
            ("delete triton-server", "delete_triton_server", "Delete the endpoint: `mill endpoint delete NAME`."),
            (
                "get-s3 bucket",
                "S3DataMover.get_bucket",
                "Fetch it in a job that has the workspace: `mill submit --workspace NAME:/workspace`.",
            ),
            (
                "create flexcache",
                "create_flexcache",
                "Cache a commit beside the compute: `mill cache add DATASET@REF`.",
            ),
            (
                "delete flexcache-volume",
                "delete_flexcache_volume",
                "Remove a cached commit: `mill cache rm DATASET@REF`.",
            ),
            ("clone-to-new-ns jupyterlab", "clone_jupyter_lab_to_new_namespace", _ASTRA),
            ("register-with-astra jupyterlab", "register_jupyter_lab_with_astra", _ASTRA),
            ("backup-with-astra jupyterlab", "backup_jupyter_lab_with_astra", _ASTRA),
        )
    ),
)
