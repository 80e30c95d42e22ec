"""The commands of the toolkit for traditional environments, and what each is here."""

from __future__ import annotations

from millpond.dataops.verbs import Verb, option, without_effect

_ARRAY = "It sets up a NetApp storage system, and there is none."
# The same option has two short names, by the command.
_SVM_V = without_effect(cluster_name="u", svm="v")
_SVM_S = without_effect(cluster_name="u", svm="s")
_MOUNT = (option("mountpoint", "m"), option("readonly", "x", flag=True))
_WAIT = option("wait", "w", "wait_until_complete", flag=True)
_BUCKET = (option("bucket", "b", "s3_bucket"),)

TRADITIONAL = (
    Verb("config", "", None, refused="There is nothing to set up: run `mill login` once."),
    Verb(
        "config dataset-manager",
        "Dataset",
        None,
        refused="A workspace is that: `millpond.Workspace(name)` has `path`, `snapshot`, `clone` and `restore`.",
    ),
    Verb(
        "create volume",
        "create_volume",
        "mill workspace create NAME --size SIZE",
        (
            option("name", "n", "volume_name"),
            option("size", "s", "volume_size"),
            *_MOUNT,
            option("guarantee-space", "r", flag=True),
            *without_effect(cluster_name="l", svm="v", type="t", permissions="p", uid="u", gid="g", export_policy="e"),
            *without_effect(snapshot_policy="d", aggregate="a", junction="j", tiering_policy="f", snaplock_type="w"),
            option("dp", "y", flag=True, ignored=True),
        ),
    ),
    Verb(
        "clone volume",
        "clone_volume",
        "mill workspace clone SOURCE[@SNAPSHOT] NAME",
        (
            option("name", "n", "new_volume_name"),
            option("source-volume", "v", "source_volume_name"),
            option("source-snapshot", "s", "source_snapshot_name"),
            *_MOUNT,
            option("refresh", "r", flag=True),
            *without_effect(cluster_name="l", svm="", source_svm="c", target_svm="t", uid="u", gid="g", junction="j"),
            *without_effect(export_hosts="i", export_policy="e", snapshot_policy="d"),
            option("split", flag=True, ignored=True),
            option("svm-dr-unprotect", flag=True, ignored=True),
        ),
    ),
    Verb(
        "delete volume",
        "delete_volume",
        "mill workspace rm NAME",
        (
            option("name", "n", "volume_name"),
            option("force", "f", flag=True),
            option("delete-mirror", "m", flag=True, ignored=True),
            option("delete-non-clone", flag=True, ignored=True),
            *_SVM_V,
        ),
    ),
    Verb(
        "list volumes",
        "list_volumes",
        "mill workspace list --space",
        (option("include-space-usage-details", "s", flag=True), *_SVM_V),
    ),
    Verb("get volume", "get_volume", "mill workspace show NAME", (option("name", "n", "volume_name"), *_SVM_V)),
    Verb(
        "mount volume",
        "mount_volume",
        "mill workspace mount NAME DIRECTORY",
        (option("name", "n", "volume_name"), *_MOUNT, *_SVM_V, *without_effect(lif="l", options="o")),
    ),
    Verb("unmount volume", "unmount_volume", "rm LINK", (option("mountpoint", "m"),)),
    Verb(
        "create snapshot",
        "create_snapshot",
        "mill workspace snapshot NAME [SNAPSHOT] --keep 7",
        (
            option("volume", "v", "volume_name"),
            option("name", "n", "snapshot_name"),
            option("retention", "r"),
            option("snapmirror-label", "l", "snapmirror_label"),
            *_SVM_S,
        ),
    ),
    Verb(
        "list snapshots",
        "list_snapshots",
        "mill workspace snapshots NAME",
        (option("volume", "v", "volume_name"), *_SVM_S),
    ),
    Verb(
        "restore snapshot",
        "restore_snapshot",
        "mill workspace restore NAME@SNAPSHOT",
        (
            option("volume", "v", "volume_name"),
            option("name", "n", "snapshot_name"),
            option("force", "f", flag=True),
            *_SVM_S,
        ),
    ),
    Verb(
        "delete snapshot",
        "delete_snapshot",
        "mill workspace rm NAME@SNAPSHOT",
        (
            option("volume", "v", "volume_name"),
            option("name", "n", "snapshot_name"),
            option("force", "f", flag=True, ignored=True),
            *_SVM_S,
        ),
    ),
    Verb(
        "pull-from-s3 bucket",
        "pull_bucket_from_s3",
        "objects into a directory of this machine; mill move s3://BUCKET/PREFIX mount:NAME",
        (*_BUCKET, option("directory", "d", "local_directory"), option("key-prefix", "p", "s3_object_key_prefix")),
    ),
    Verb(
        "pull-from-s3 object",
        "pull_object_from_s3",
        "one object into a file of this machine, verified",
        (*_BUCKET, option("key", "k", "s3_object_key"), option("file", "f", "local_file")),
    ),
    Verb(
        "push-to-s3 directory",
        "push_directory_to_s3",
        "a directory of this machine into the bucket; mill move mount:NAME s3://BUCKET/PREFIX",
        (
            *_BUCKET,
            option("directory", "d", "local_directory"),
            option("key-prefix", "p", "s3_object_key_prefix"),
            option("extra-args", "e", "s3_extra_args", ignored=True),
        ),
    ),
    Verb(
        "push-to-s3 file",
        "push_file_to_s3",
        "one file of this machine into an object, verified",
        (
            *_BUCKET,
            option("file", "f", "local_file"),
            option("key", "k", "s3_object_key"),
            option("extra-args", "e", "s3_extra_args", ignored=True),
        ),
    ),
    Verb(
        "list cloud-sync-relationships",
        "list_cloud_sync_relationships",
        "mill source list; mill mirror list",
    ),
    Verb(
        "sync cloud-sync-relationship",
        "sync_cloud_sync_relationship",
        "mill source run NAME; mill mirror run NAME",
        (option("id", "i", "relationship_id"), _WAIT),
    ),
    Verb(
        "list snapmirror-relationships",
        "list_snap_mirror_relationships",
        "mill mirror list",
        (option("svm", "s", "svm_name"), option("cluster-name", "u", ignored=True)),
    ),
    Verb(
        "create snapmirror-relationship",
        "create_snap_mirror_relationship",
        "mill mirror add WORKSPACE SITE --name NAME --every TIME",
        (
            option("source-vol", "v"),
            option("target-vol", "n"),
            option("source-svm", "s"),
            option("target-svm", "t"),
            option("schedule", "c"),
            option("policy", "p"),
            option("action", "a"),
            option("cluster-name", "u", ignored=True),
        ),
    ),
    Verb(
        "sync snapmirror-relationship",
        "sync_snap_mirror_relationship",
        "mill mirror run NAME",
        (
            option("uuid", "i"),
            option("name", "n", "volume_name"),
            option("svm", "v", "svm_name"),
            _WAIT,
            option("cluster-name", "u", ignored=True),
        ),
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
