"""The toolkit's Cloud Sync and SnapMirror verbs: to or from a bucket they are sources and mirrors, to a site mirrors.

The toolkit's *destination volume* of a SnapMirror relationship is the name of the mirror, its *SVM* the site.
"""

from __future__ import annotations

from typing import Any

from millpond.client import mirrors, sources
from millpond.client.credentials import resolve_target
from millpond.client.http import Api
from millpond.client.mirror import mirror
from millpond.dataops import common
from millpond.dataops.errors import (
    CloudSyncSyncOperationError,
    InvalidSnapMirrorParameterError,
    SnapMirrorSyncOperationError,
    told_as,
)
from millpond.errors import NotReady
from millpond.model.quantity import format_seconds
from millpond.wire.imports import Source
from millpond.wire.mirrors import Mirror

# Schedules that every ONTAP system has, in the time between two runs.
_SCHEDULES = {
    "5min": "5m", "10min": "10m", "pg-15-minutely": "15m", "hourly": "1h", "pg-hourly": "1h", "6-hourly": "6h",
    "pg-6-hourly": "6h", "8hour": "8h", "12-hourly": "12h", "daily": "1d", "pg-daily": "1d", "weekly": "7d",
    "pg-weekly": "7d",
}  # fmt: skip
_POLICY = "MirrorAllSnapshots"
_SYNCHRONOUS = ("sync", "strictsync", "automatedfailover", "automatedfailoverduplex", "continuous")
_ACTIONS = ("initialize", "resync")


def list_cloud_sync_relationships(print_output: bool = False) -> list[dict[str, Any]]:
    """Sources, from their place to their dataset, and mirrors to buckets."""
    with told_as(CloudSyncSyncOperationError):
        rows = [*map(_of_source, sources.list_sources(*_server())), *map(_of_bucket, _mirrors(to_site=False))]
    common.print_table(rows, print_output=print_output)
    return rows


def sync_cloud_sync_relationship(
    relationship_id: str, wait_until_complete: bool = False, print_output: bool = False
) -> None:
    """Run a source or a mirror to a bucket now, by its id or, where that is one alone, its name."""
    with told_as(CloudSyncSyncOperationError):
        source = [one for one in sources.list_sources(*_server()) if relationship_id in (one.id, one.name)]
        mirrored = [one for one in _mirrors(to_site=False) if relationship_id in (one.id, one.name)]
        if not source and not mirrored:
            raise CloudSyncSyncOperationError(
                f"No source and no mirror to a bucket {relationship_id!r}. See mill dataops list "
                "cloud-sync-relationships."
            )
        if len(source) + len(mirrored) > 1:
            raise CloudSyncSyncOperationError(
                f"A source and a mirror are called {relationship_id!r}. Give an id: {source[0].id} of the source, "
                f"{mirrored[0].id} of the mirror."
            )
        common.say(print_output, f"Triggering sync operation for Cloud Sync relationship (ID = {relationship_id}).")
        if source:
            _run_source(source[0], wait=wait_until_complete)
        else:
            _run_mirror(mirrored[0], wait=wait_until_complete)
    common.say(print_output, _told(wait_until_complete))


def list_snap_mirror_relationships(
    cluster_name: str | None = None, svm_name: str | None = None, print_output: bool = False
) -> list[dict[str, Any]]:
    """Mirrors to other sites; with `svm_name`, to this one."""
    common.tell_ignored(print_output, {"cluster_name": cluster_name})
    with told_as(InvalidSnapMirrorParameterError):
        rows = [_of_site(one) for one in _mirrors(to_site=True) if svm_name in (None, "", one.site)]
    common.print_table(rows, print_output=print_output)
    return rows


def create_snap_mirror_relationship(
    source_svm: str, source_vol: str, target_vol: str, target_svm: str | None = None, cluster_name: str | None = None,
    schedule: str = "", policy: str = _POLICY, action: str | None = None, print_output: bool = False,
) -> None:  # fmt: skip
    """Mirror a workspace to site `target_svm`, by the name `target_vol`. It runs at once, whatever `action` says."""
    every = _every(schedule)
    if policy.replace("-", "").lower() in _SYNCHRONOUS:
        raise InvalidSnapMirrorParameterError(
            f"Policy {policy} writes at both ends at once, and mirrors do so now and again. Leave out the policy, and "
            "give a schedule like 5min."
        )
    if action is not None and action not in _ACTIONS:
        raise InvalidSnapMirrorParameterError(f"{action!r} is not an action. Give {' or '.join(_ACTIONS)}, or none.")
    if not target_svm:
        raise InvalidSnapMirrorParameterError(
            "No site given. Name the one to mirror to as target_svm (--target-svm); see mill site list. To a bucket: "
            f"mill mirror add {source_vol} s3://BUCKET/PREFIX"
        )
    ignored = {"cluster_name": cluster_name, "policy": None if policy == _POLICY else policy}
    common.tell_ignored(print_output, ignored)
    common.say(print_output, f"Creating snapmirror relationship: {source_vol} -> {target_svm}:{target_vol}")
    with told_as(InvalidSnapMirrorParameterError):
        source, name = common.workspace_name(source_vol), common.workspace_name(target_vol)
        made = mirror(f"workspace:{source}", f"site:{target_svm}", every=every, name=name).info
    common.say(
        print_output,
        f"Mirror {made.name} of {made.source} to {made.target} created. It runs now and every "
        f"{format_seconds(made.every_seconds)}.",
    )


def sync_snap_mirror_relationship(
    uuid: str | None = None, svm_name: str | None = None, volume_name: str | None = None,
    cluster_name: str | None = None, wait_until_complete: bool = False, print_output: bool = False,
) -> None:  # fmt: skip
    """Run a mirror to another site now, by its id (`uuid`) or its name (`volume_name`)."""
    common.tell_ignored(print_output, {"cluster_name": cluster_name})
    if not uuid and not volume_name:
        raise InvalidSnapMirrorParameterError("Give the uuid or the target volume of a relationship.")
    with told_as(SnapMirrorSyncOperationError):
        found = [
            one
            for one in _mirrors(to_site=True)
            if (one.id == uuid if uuid else one.name == volume_name) and svm_name in (None, "", one.site)
        ]
        if not found:
            at = f" to {svm_name}" if svm_name else " to another site"
            raise SnapMirrorSyncOperationError(
                f"No mirror {uuid or volume_name!r}{at}. See mill dataops list snapmirror-relationships."
            )
        common.say(print_output, f"Triggering sync operation for SnapMirror relationship (UUID = {found[0].id}).")
        _run_mirror(found[0], wait=wait_until_complete)
    common.say(print_output, _told(wait_until_complete))


def _every(schedule: str) -> str:
    """How often: by the name of an ONTAP schedule or as a time, hourly without one as the toolkit's command has it."""
    return _SCHEDULES.get(schedule.lower(), schedule) or _SCHEDULES["hourly"]


def _server() -> tuple[Api, str]:
    """The server and its project, as scripts find them."""
    ends = resolve_target(None, None)
    return Api(ends.server, ends.token), ends.project


def _mirrors(*, to_site: bool) -> list[Mirror]:
    return [one for one in mirrors.list_mirrors(*_server()) if (one.site is not None) is to_site]


def _run_mirror(one: Mirror, *, wait: bool) -> None:
    api, project = _server()
    asked = mirrors.run_mirror(api, project, one.id)
    if wait and (done := mirrors.wait_for_run(api, asked)).problem is not None:
        raise NotReady(f"Mirror {done.name} failed: {done.problem}")


def _run_source(one: Source, *, wait: bool) -> None:
    api, project = _server()
    before = sources.run_source(api, project, one.id)
    if wait and (done := sources.wait_for_run(api, before)).problem is not None:
        raise NotReady(f"Source {done.name} failed: {done.problem}")


def _of_source(one: Source) -> dict[str, Any]:
    return {"id": one.id, "source": one.uri, "target": f"{one.dataset}@{one.branch}"}


def _of_bucket(one: Mirror) -> dict[str, Any]:
    return {"id": one.id, "source": one.source, "target": one.target}


def _of_site(one: Mirror) -> dict[str, Any]:
    done = None if one.mirrored_at is None else "success"
    return {
        "UUID": one.id,
        "Type": "async",
        "Healthy": one.state != "failing",
        "Current Transfer Status": "transferring" if one.state == "running" else done,
        "Source Cluster": "",
        "Source SVM": one.project,
        "Source Volume": one.source,
        "Dest Cluster": "",
        "Dest SVM": one.site,
        "Dest Volume": one.name,
    }


def _told(is_complete: bool) -> str:
    return "Success: Sync operation is complete." if is_complete else "Sync operation successfully triggered."
