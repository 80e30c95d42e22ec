"""Replaces the content of a workspace: by a snapshot of it, or anew by what it was cloned from.

A snapshot of what is there comes first, so that nothing is lost. Refused, naming them, while jobs write.
"""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy import Connection

from millpond.db import volumes, workspaces
from millpond.errors import BadRequest, Conflict, InUse
from millpond.model.people import Actor, Project
from millpond.model.workspace import (
    Begins,
    SnapshotOrigin,
    Workspace,
    WorkspaceRestore,
    WorkspaceSource,
    WorkspaceState,
)
from millpond.services.deps import Deps
from millpond.services.workspaces import access, creating, planning, snapshots, sources
from millpond.services.workspaces.planning import Wanted

_SAFETY = "before-restore"


def restore(deps: Deps, actor: Actor, project: Project, written: str, snapshot: str) -> Workspace:
    """Put a snapshot in the place of the tree. InUse, naming the job, while one writes."""
    with deps.db.write() as tx:
        workspace = access.lock_used(tx, actor, project, written)
        _check_unused(tx, workspace)
        source = sources.of_snapshot(workspace, sources.find_snapshot(tx, workspace, snapshot))
        planning.check_holds(workspace.size_bytes, source, of=workspace.name)
        after = _begin(tx, deps, actor, workspace, source)
        access.record(tx, deps, actor, workspace, "restore", snapshot=source.written)
    access.announce(deps, after)
    return after


def refresh(deps: Deps, actor: Actor, project: Project, written: str, origin: str | None = None) -> Workspace:
    """Replace a clone's content by what it was cloned from, as that is now; `origin`: by this from now on.

    `W@daily*` is the newest snapshot that matches now.
    """
    with deps.db.read() as tx:
        known = access.find_used(tx, actor, project, written)
    source = _newest(deps, actor, project, known, origin)
    with deps.db.write() as tx:
        workspace = access.lock_used(tx, actor, project, written)
        _check_unused(tx, workspace)
        planning.check_holds(workspace.size_bytes, source, of=workspace.name)
        if source.workspace_id == workspace.id and source.kind is Begins.WORKSPACE:
            raise BadRequest(f"Workspace {workspace.name!r} cannot be refreshed from itself.")
        anchored = _anchored(tx, deps, actor, source, workspace)
        after = _begin(tx, deps, actor, replace(workspace, source=anchored), anchored)
        access.record(tx, deps, actor, workspace, "refresh", source=source.written)
    access.announce(deps, after)
    return after


def restore_into(
    deps: Deps, actor: Actor, project: Project, written: str, snapshot: str, into: str, *, size: int | None = None
) -> Workspace:
    """A snapshot as a new workspace; the one it was taken of stays as it is."""
    source, origin = creating.source_of(deps, actor, project, workspace=f"{written}@{snapshot}")
    wanted = Wanted(into, creating.clone_size(origin, source, size), source)
    return creating.create(deps, actor, project, creating.placed_like(origin, wanted))


def _newest(
    deps: Deps, actor: Actor, project: Project, workspace: Workspace, origin: str | None
) -> WorkspaceSource:  # fmt: skip
    if origin is not None:
        return creating.source_of(deps, actor, project, workspace=origin)[0]
    source = workspace.source
    if source.kind is Begins.EMPTY:
        raise BadRequest(
            f"Workspace {workspace.name!r} was made empty: there is nothing to refresh it from.",
            hint="Name a source: mill workspace clone SOURCE NAME --refresh",
        )
    if source.kind is Begins.COMMIT:
        return source
    with deps.db.read() as tx:
        found = workspaces.get(tx, source.workspace_id)
    if found is None or found.deleted_at is not None:
        raise Conflict(
            f"What {workspace.name!r} was cloned from is gone: {source.written}.",
            hint="Name another source: mill workspace clone SOURCE NAME --refresh",
        )
    if source.kind is Begins.WORKSPACE:
        return creating.source_of(deps, actor, project, workspace=found.name)[0]
    snapshot = source.pattern or str(source.number)
    return creating.source_of(deps, actor, project, workspace=f"{found.name}@{snapshot}")[0]


def _anchored(
    tx: Connection, deps: Deps, actor: Actor, source: WorkspaceSource, target: Workspace
) -> WorkspaceSource:  # fmt: skip
    volume = volumes.get(tx, target.volume_id)
    assert volume is not None, "workspaces keep their volume"
    return creating.anchored(tx, deps, actor, source, volume, target.storage_class)


def _begin(
    tx: Connection, deps: Deps, actor: Actor, workspace: Workspace, source: WorkspaceSource
) -> Workspace:  # fmt: skip
    """The agent begins once the snapshot of what is there has been taken."""
    safety = snapshots.take_in(
        tx, deps, actor, workspace, series=_SAFETY, origin=SnapshotOrigin.SAFETY
    )  # fmt: skip
    current = workspaces.get(tx, workspace.id)
    assert current is not None
    wanted = WorkspaceRestore(volumes.take_attempt(tx, workspace.volume_id), source, safety.number, actor.name)
    after = replace(
        current, state=WorkspaceState.RESTORING, restore=wanted, source=workspace.source, changed_at=deps.clock.now()
    )
    workspaces.save(tx, after)
    return after


def _check_unused(tx: Connection, workspace: Workspace) -> None:
    if workspace.read_only:
        return
    living = workspaces.living_jobs(tx, [workspace.id], placed=True).get(workspace.id, ())
    writing = [f"{name} ({job_id})" for job_id, name, read_only in living if not read_only]
    if writing:
        raise InUse(
            f"Cannot replace the content of workspace {workspace.name!r}: job {writing[0]} writes to it.",
            hint=f"Stop it: mill stop {writing[0].split(' ')[0]}. Or restore into another: mill workspace restore "
            f"{workspace.name}@SNAPSHOT --into NEW",
            depends=[f"job {one}" for one in writing],
        )
