"""What a workspace begins with: `dataset@ref`, a snapshot of a workspace, or a workspace as it is now."""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy import Connection

from millpond.db import caches, links, workspace_snapshots, workspaces
from millpond.db.caches import CachedView
from millpond.decide.workspaces.clone import CloneDecision, CloneSource, CloneTarget, choose_how
from millpond.errors import NotFound, NotReady
from millpond.model.cached_state import CachedState
from millpond.model.names import WORKSPACE_DATASET
from millpond.model.people import Actor, Project
from millpond.model.topology import LAKE
from millpond.model.volume import Volume
from millpond.model.workspace import (
    Begins,
    How,
    SnapshotState,
    Workspace,
    WorkspaceSnapshot,
    WorkspaceSource,
    matching,
    split_workspace,
)
from millpond.services.datasets import reading
from millpond.services.deps import Deps
from millpond.services.people import access as people_access
from millpond.services.places.geography import Geography
from millpond.services.workspaces import access
from millpond.services.workspaces.storage import class_of, clone_problem


def of_dataset(deps: Deps, actor: Actor, project: Project, written: str) -> WorkspaceSource:
    """The commit that `dataset@ref` names now."""
    dataset, commit = reading.find_commit(deps, actor, written, project=project.name)
    return WorkspaceSource(
        kind=Begins.COMMIT,
        written=f"{dataset.written}@{commit.id[:8]}",
        project_id=dataset.project_id,
        project=dataset.project,
        dataset_id=dataset.id,
        dataset=dataset.name,
        commit_id=commit.id,
        tree=commit.tree,
        files=commit.files,
        bytes=commit.bytes,
    )


def of_workspace(tx: Connection, actor: Actor, project: Project, written: str) -> tuple[Workspace, WorkspaceSource]:
    """`W` as it is now, `W@SNAPSHOT`, or `W@daily*` for the newest that matches."""
    name, snapshot = split_workspace(written)
    found = access.find_used(tx, actor, project, name)
    if snapshot is None:
        access.require_ready(found)
        return found, WorkspaceSource(
            kind=Begins.WORKSPACE, written=found.name, workspace_id=found.id, files=found.files, bytes=found.used_bytes
        )
    source = of_snapshot(found, find_snapshot(tx, found, snapshot))
    return found, replace(source, pattern=snapshot if "*" in snapshot else "")


def of_snapshot(workspace: Workspace, snapshot: WorkspaceSnapshot) -> WorkspaceSource:
    known = snapshot if snapshot.taken_at is not None else None
    return WorkspaceSource(
        kind=Begins.SNAPSHOT,
        written=f"{workspace.name}@{snapshot.name}",
        workspace_id=workspace.id,
        number=snapshot.number,
        files=known.files if known else workspace.files,
        bytes=known.bytes if known else workspace.used_bytes,
    )


def find_snapshot(tx: Connection, workspace: Workspace, written: str) -> WorkspaceSnapshot:
    """The one of that name or number, or the newest that begins so (`daily*`). NotReady for one that failed."""
    known = workspace_snapshots.of_workspace(tx, workspace.id)
    living = [one for one in known if one.state is not SnapshotState.REMOVING]
    wanted = matching(living, written)
    if "*" in written:
        wanted = [one for one in wanted if one.is_there] or wanted
    if not wanted:
        if not living:
            raise NotFound(
                f"Workspace {workspace.name!r} has no snapshots yet.",
                hint=f"Take one: mill workspace snapshot {workspace.name}", noun="snapshot", name=written, near=[],
            )  # fmt: skip
        error = people_access.not_found("snapshot", written, [one.name for one in living])
        listed = f"List them: mill workspace snapshots {workspace.name}"
        error.hint = error.hint if error.details.get("near") else listed
        raise error
    if wanted[0].state is SnapshotState.FAILED:
        raise NotReady(f"Snapshot {wanted[0].name!r} of {workspace.name} failed: {wanted[0].problem}")
    return wanted[0]


def resolve(
    tx: Connection, source: WorkspaceSource, volume_id: str, storage_class: str = ""
) -> WorkspaceSource | None:  # fmt: skip
    """The source as its agent can have it on this volume, or on a claim of this class, now; None while it is not there
    yet.

    A near snapshot of the same volume or class is itself; otherwise the commit that keeps it stands for it.
    """
    if source.kind is not Begins.SNAPSHOT:
        return source
    snapshot = workspace_snapshots.get(tx, source.workspace_id, source.number)
    of = workspaces.get(tx, source.workspace_id)
    if snapshot is None or of is None:
        return None
    lies_there = (of.volume_id, of.storage_class) == (volume_id, storage_class)
    if snapshot.is_near and lies_there and snapshot.is_there:
        return replace(source, files=snapshot.files, bytes=snapshot.bytes)
    return _kept(tx, of, snapshot, source) if snapshot.commit_id else None


def _kept(
    tx: Connection, workspace: Workspace, snapshot: WorkspaceSnapshot, source: WorkspaceSource
) -> WorkspaceSource | None:
    size = caches.size_of(tx, snapshot.commit_id or "")
    if size is None:
        return None
    return replace(
        source,
        kind=Begins.COMMIT,
        project_id=workspace.project_id,
        project=workspace.project,
        dataset_id=size.dataset_id,
        dataset=WORKSPACE_DATASET,
        commit_id=size.commit_id,
        tree=size.tree,
        files=size.files,
        bytes=size.bytes,
    )


def cached_on(tx: Connection, source: WorkspaceSource, volume_id: str) -> CachedView | None:
    """The cached commit that it may be copied from."""
    if source.kind is not Begins.COMMIT:
        return None
    found = caches.find(tx, volume_id, source.commit_id)
    is_there = found is not None and found.cached.state is CachedState.READY and not found.leaving
    return found if is_there else None


def is_near(tx: Connection, source: WorkspaceSource, volume: Volume, storage_class: str = "") -> bool:
    """True if its files lie on the volume, or on a claim of its cluster where one of `storage_class` is made."""
    if source.kind is Begins.EMPTY:
        return False
    if source.kind is Begins.COMMIT:
        return cached_on(tx, source, volume.id) is not None
    of = workspaces.get(tx, source.workspace_id)
    if of is None or of.volume_id != volume.id or of.is_claim != bool(storage_class):
        return False
    snapshot = workspace_snapshots.get(tx, source.workspace_id, source.number) if source.number else None
    return snapshot is None or snapshot.is_near or snapshot.state is SnapshotState.TAKING


def decide_how(
    tx: Connection, source: WorkspaceSource, volume: Volume, places: Geography, machines: int, storage_class: str = ""
) -> CloneDecision:
    """How it is made on the volume, or as a claim of its cluster, and about how long that takes."""
    features = volume.features or {}
    measured = {one.volume_id: one.bytes_per_second for one in links.bandwidths(tx) if one.source_id == LAKE}
    near = is_near(tx, source, volume, storage_class)
    is_tree = source.kind in (Begins.WORKSPACE, Begins.SNAPSHOT)
    is_layer = near and is_tree and _is_layer(tx, source)
    return choose_how(
        CloneSource(
            source.kind,
            source.files,
            source.bytes,
            is_near=near,
            # On such a file system every workspace and every snapshot is one, layers aside.
            is_subvolume=near and is_tree and not is_layer and _has(volume, "subvolumes"),
            is_layer=is_layer,
            is_claim=bool(storage_class) and _class_of(tx, source) == storage_class,
        ),
        CloneTarget(
            reflink=_has(volume, "reflink"),
            subvolumes=_has(volume, "subvolumes"),
            overlay=_has(volume, "overlay"),
            overlay_problem=str(features.get("overlay_problem") or ""),
            machines=machines,
            storage_class=storage_class,
            clone_problem=clone_problem(class_of(volume, storage_class)) if source.kind is Begins.WORKSPACE else "",
            lake_bytes_per_second=places.within_limit(measured.get(volume.id), LAKE, volume.site_id),
        ),
    )


def _is_layer(tx: Connection, source: WorkspaceSource) -> bool:
    of = workspaces.get(tx, source.workspace_id)
    return of is not None and of.how is How.OVERLAY


def _class_of(tx: Connection, source: WorkspaceSource) -> str:
    """The storage class of the workspace that a source is, or is a snapshot of."""
    of = workspaces.get(tx, source.workspace_id) if source.workspace_id and source.kind is not Begins.COMMIT else None
    return of.storage_class if of is not None else ""


def _has(volume: Volume, feature: str) -> bool:
    return bool((volume.features or {}).get(feature, False))
