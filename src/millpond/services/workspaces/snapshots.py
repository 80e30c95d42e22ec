"""Takes, lists and removes snapshots of workspaces. First near, then kept: both are its agent's work."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from millpond.db import volumes, workspace_snapshots, workspaces
from millpond.errors import InUse, NameTaken
from millpond.model.people import Actor, Project
from millpond.model.workspace import (
    Begins,
    How,
    KeepRule,
    SnapshotOrigin,
    SnapshotState,
    Workspace,
    WorkspaceSnapshot,
    WorkspaceState,
    check_snapshot_name,
    snapshot_name,
)
from millpond.services.deps import Deps
from millpond.services.workspaces import access, sources

# Of snapshots that nobody gave a name.
_UNNAMED = "snapshot"


def take(
    deps: Deps, actor: Actor, project: Project, written: str, *, name: str | None = None, keep: KeepRule | None = None,
    origin: SnapshotOrigin = SnapshotOrigin.MANUAL, run_id: str | None = None,
) -> tuple[Workspace, WorkspaceSnapshot]:  # fmt: skip
    """Have a snapshot taken. With `keep`, `name` is that of a series, whose older ones go by the rule.

    NameTaken if the workspace has one of that name, NotReady while it is made or restored.
    """
    with deps.db.write() as tx:
        workspace = access.lock_used(tx, actor, project, written)
        if keep is None and name is not None:
            taken = take_in(tx, deps, actor, workspace, name=check_snapshot_name(name), origin=origin, run_id=run_id)
        else:
            series = check_snapshot_name(name or _UNNAMED)
            taken = take_in(tx, deps, actor, workspace, series=series, keep=keep, origin=origin, run_id=run_id)
        access.record(tx, deps, actor, workspace, "snapshot", snapshot=taken.name)
    access.announce(deps, workspace, "snapshot")
    return workspace, taken


def take_for_run(
    deps: Deps, workspace_id: str, *, name: str, run_id: str, by: Actor
) -> WorkspaceSnapshot | None:  # fmt: skip
    """A snapshot that belongs to a run, as at the start or the end of its job; the same again when asked twice.

    None if the workspace is gone. No rule ever removes it.
    """
    with deps.db.write() as tx:
        workspace = access.lock(tx, workspace_id)
        if workspace is None or workspace.deleted_at is not None:
            return None
        known = workspace_snapshots.of_workspace(tx, workspace_id)
        there = next((one for one in known if one.name == name and one.run_id == run_id), None)
        if there is not None:
            return there
        taken = take_in(tx, deps, by, workspace, name=name, origin=SnapshotOrigin.RUN, run_id=run_id)
        access.record(tx, deps, by, workspace, "snapshot", snapshot=taken.name, run=run_id)
    access.announce(deps, workspace, "snapshot")
    return taken


def take_in(
    tx: Connection, deps: Deps, actor: Actor, workspace: Workspace, *, name: str | None = None, series: str = "",
    keep: KeepRule | None = None, origin: SnapshotOrigin, run_id: str | None = None,
) -> WorkspaceSnapshot:  # fmt: skip
    """The same in a transaction that has the workspace locked."""
    access.require_ready(workspace)
    now = deps.clock.now()
    known = workspace_snapshots.of_workspace(tx, workspace.id)
    if name is not None and any(one.name == name for one in known):
        raise _taken(workspace, name)
    current = workspaces.get(tx, workspace.id) or workspace
    taken = WorkspaceSnapshot(
        workspace_id=workspace.id,
        number=current.next_number,
        name=name or snapshot_name(series, now, (one.name for one in known)),
        series=series,
        origin=origin,
        created_by=actor.name,
        created_at=now,
        attempt=volumes.take_attempt(tx, workspace.volume_id),
        run_id=run_id,
        keep=keep,
    )
    try:
        with tx.begin_nested():
            workspace_snapshots.insert(tx, taken)
    except IntegrityError as error:
        raise _taken(workspace, taken.name) from error
    workspaces.save(tx, replace(current, next_number=current.next_number + 1))
    return taken


def list_snapshots(deps: Deps, actor: Actor, project: Project, written: str) -> Sequence[WorkspaceSnapshot]:
    """Newest first, those on their way out left out."""
    with deps.db.read() as tx:
        workspace = access.find(tx, actor, project, written)
        return living(tx, workspace.id)[::-1]


def living(tx: Connection, workspace_id: str) -> list[WorkspaceSnapshot]:
    found = workspace_snapshots.of_workspace(tx, workspace_id)
    return [one for one in found if one.state is not SnapshotState.REMOVING]


def remove(deps: Deps, actor: Actor, project: Project, written: str, snapshot: str) -> None:
    """Remove both copies. InUse, naming them, while clones need it; what a run is linked to only by its number."""
    with deps.db.write() as tx:
        workspace = access.lock_used(tx, actor, project, written)
        found = _find_any(tx, workspace, snapshot)
        if found.run_id is not None and snapshot != str(found.number):
            raise InUse(
                f"Snapshot {found.name!r} belongs to run {found.run_id}: with it, the run can be repeated.",
                hint=f"To remove it all the same: mill workspace rm {workspace.name}@{found.number}",
                depends=[f"run {found.run_id}"],
            )
        if users := needed_by(tx, workspace.id).get(found.number):
            raise InUse(
                f"Snapshot {found.name!r} is used by {', '.join(users)}.", hint="Remove them first, or wait for them.",
                depends=list(users),
            )  # fmt: skip
        remove_in(tx, workspace, [found])
        access.record(tx, deps, actor, workspace, "snapshot.delete", snapshot=found.name)
    access.announce(deps, workspace, "snapshot")


def remove_in(tx: Connection, workspace: Workspace, gone: Collection[WorkspaceSnapshot]) -> None:
    """In a transaction that has the workspace locked. `settle` carries it out, after the agent where one is near."""
    for one in gone:
        attempt = volumes.take_attempt(tx, workspace.volume_id)
        leaves = one.is_near or one.state is SnapshotState.TAKING
        workspace_snapshots.save(tx, replace(one, state=SnapshotState.REMOVING, attempt=attempt, is_near=leaves))


def needed_by(tx: Connection, workspace_id: str) -> Mapping[int, Sequence[str]]:
    """Numbers of snapshots that must stay, and what needs each: a clone that is being made from it or lies over it,
    a restore under way."""
    found: dict[int, list[str]] = {}
    for clone in workspaces.clones_of(tx, workspace_id):
        is_over = clone.how is How.OVERLAY and clone.state is not WorkspaceState.FAILED
        if clone.source.kind is Begins.SNAPSHOT and (clone.state is WorkspaceState.CREATING or is_over):
            found.setdefault(clone.source.number, []).append(f"workspace {clone.name}")
    own = workspaces.get(tx, workspace_id)
    if own is not None and own.restore is not None:
        for number in {own.restore.safety, own.restore.source.number} - {0}:
            found.setdefault(number, []).append("a restore under way")
    return found


def _find_any(tx: Connection, workspace: Workspace, written: str) -> WorkspaceSnapshot:
    """Also one that failed."""
    known = living(tx, workspace.id)
    exact = next((one for one in known if written in (one.name, str(one.number))), None)
    return exact or sources.find_snapshot(tx, workspace, written)


def _taken(workspace: Workspace, name: str) -> NameTaken:
    return NameTaken(
        f"Workspace {workspace.name} already has a snapshot {name!r}.",
        hint="Choose another name, or add --keep to take a series of them.",
        name=name,
    )
