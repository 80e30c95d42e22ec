"""The commit that a mirror brings: the newest of a branch, or the one that keeps a snapshot of a workspace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from millpond.db import commits, datasets, workspace_snapshots, workspaces
from millpond.errors import NotFound, NotReady
from millpond.model.dataset import Commit, Dataset
from millpond.model.mirror import Mirror
from millpond.model.names import WORKSPACE_DATASET
from millpond.model.people import Actor, Project
from millpond.model.workspace import KeepRule, SnapshotState, Workspace, WorkspaceSnapshot
from millpond.services.commits import refs
from millpond.services.deps import Deps
from millpond.services.workspaces import access as workspace_access
from millpond.services.workspaces import snapshots

# Of snapshots that a mirror takes: the one at the target, and the one on its way.
_OWN_KEPT = KeepRule(count=2)


@dataclass(frozen=True, slots=True)
class Origin:
    """`at`: of when the content is."""

    dataset: Dataset
    commit: Commit
    at: datetime
    written: str


@dataclass(frozen=True, slots=True)
class Awaited:
    """A snapshot that its agent has not kept yet."""

    snapshot: int
    what: str


def newest(tx: Connection, mirror: Mirror) -> Origin | None:
    """What the mirror would bring now, without having anything taken; None if there is nothing.

    Of a workspace without label: the last snapshot that the mirror has had taken.
    """
    if mirror.workspace_id is None:
        dataset = datasets.get(tx, mirror.dataset_id or "")
        head = refs.head_commit(tx, dataset, mirror.branch) if dataset else None
        written = f"{dataset.written}@{mirror.branch}" if dataset else ""
        return Origin(dataset, head, head.time, written) if dataset and head else None
    workspace = workspaces.get(tx, mirror.workspace_id)
    if workspace is None or workspace.deleted_at is not None:
        return None
    series = mirror.label or own_series(mirror)
    found = labelled(workspace_snapshots.of_workspace(tx, workspace.id), series)
    kept = [one for one in found if one.state is SnapshotState.KEPT and one.commit_id]
    return _of_snapshot(tx, workspace, kept[-1]) if kept else None


def bring(deps: Deps, actor: Actor, project: Project, mirror: Mirror) -> Origin | Awaited:
    """What a run of the mirror is to bring. NotFound where there is nothing, NotReady for a snapshot that failed."""
    if mirror.workspace_id is not None and not mirror.label:
        return _own_snapshot(deps, actor, project, mirror)
    with deps.db.read() as tx:
        found = newest(tx, mirror)
        workspace = workspaces.get(tx, mirror.workspace_id) if mirror.workspace_id is not None else None
    if found is not None:
        return found
    if mirror.workspace_id is not None:
        name = workspace.name if workspace is not None else "NAME"
        raise NotFound(
            f"The workspace has no kept snapshot {mirror.label!r} yet.",
            hint=f"Take one, or have them taken: mill workspace snapshot {name} {mirror.label} --keep 7",
        )
    raise NotFound(
        f"There is no branch {mirror.branch!r}, or its dataset is in the bin.", hint="Restore it, or remove the mirror."
    )


def own_series(mirror: Mirror) -> str:
    return f"mirror-{mirror.name}"


def labelled(found: Sequence[WorkspaceSnapshot], label: str) -> list[WorkspaceSnapshot]:
    """Those of a series, or with a name that is the label or begins with it and a dot; oldest first."""
    return [one for one in found if label in (one.series, one.name) or one.name.startswith(f"{label}.")]


def _own_snapshot(deps: Deps, actor: Actor, project: Project, mirror: Mirror) -> Origin | Awaited:
    workspace_id = mirror.workspace_id or ""
    if mirror.snapshot is None:
        _, taken = snapshots.take(deps, actor, project, workspace_id, name=own_series(mirror), keep=_OWN_KEPT)
        return Awaited(taken.number, f"snapshot {taken.name} is being taken")
    with deps.db.read() as tx:
        workspace = workspaces.get(tx, workspace_id)
        snapshot = workspace_snapshots.get(tx, workspace_id, mirror.snapshot)
        if workspace is None or snapshot is None or snapshot.state is SnapshotState.REMOVING:
            raise NotReady("The snapshot that was to be mirrored has been removed.")
        if snapshot.state is SnapshotState.FAILED:
            raise NotReady(f"Snapshot {snapshot.name} failed: {snapshot.problem}")
        if snapshot.commit_id is None:
            step = "taken" if snapshot.state is SnapshotState.TAKING else "kept in the lake"
            return Awaited(snapshot.number, f"snapshot {snapshot.name} is being {step} at {workspace.site}")
        found = _of_snapshot(tx, workspace, snapshot)
    if found is None:
        raise NotFound("The commit that keeps the snapshot is gone.")
    return found


def _of_snapshot(tx: Connection, workspace: Workspace, snapshot: WorkspaceSnapshot) -> Origin | None:
    dataset = datasets.find(tx, workspace.project_id, WORKSPACE_DATASET)
    commit = commits.get(tx, snapshot.commit_id or "")
    if dataset is None or commit is None:
        return None
    written = f"{workspace.written}@{snapshot.name}"
    return Origin(dataset, commit, snapshot.taken_at or snapshot.created_at, written)


def check_uses(tx: Connection, actor: Actor, project: Project, mirror: Mirror) -> None:
    """NotFound once the workspace that is mirrored is gone, Forbidden once the actor may not have it."""
    if mirror.workspace_id is None:
        return
    found = workspaces.get(tx, mirror.workspace_id)
    if found is None or found.deleted_at is not None:
        raise NotFound("The workspace is in the bin.", hint="Restore it, or remove the mirror.")
    workspace_access.find_used(tx, actor, project, found.id)
