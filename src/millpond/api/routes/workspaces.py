"""Workspaces: create, clone, list, show, change, remove; their snapshots, schedules and differences."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from millpond.api.access import DepsOf, InProject, Member, Scope, SignedIn, Viewer
from millpond.api.paging import DEFAULT_LIMIT, Cursor, Limit, page
from millpond.api.shapes import data as data_shapes
from millpond.api.shapes import workspaces as shapes
from millpond.errors import BadRequest
from millpond.model.people import Role
from millpond.model.workspace import KeepRule, Workspace, parse_keep
from millpond.services.deps import Deps
from millpond.services.workspaces import (
    changes,
    creating,
    diffs,
    repositories,
    restoring,
    run_snapshots,
    schedules,
    snapshots,
    views,
)
from millpond.services.workspaces.planning import Wanted
from millpond.wire import data as data_wire
from millpond.wire import workspace_views as wire
from millpond.wire.base import Page

router = APIRouter(tags=["workspaces"])

_ALL = "/projects/{project}/workspaces"
_RUN = "/projects/{project}/runs/{run}"
_ONE = f"{_ALL}/{{workspace}}"

# A job uses the workspaces that it was given.
ViewerOrJob = Annotated[Scope, InProject(Role.VIEWER, placements=True)]
MemberOrJob = Annotated[Scope, InProject(Role.MEMBER, placements=True)]
Deleted = Annotated[bool, Query(description="Those in the bin instead.")]


@router.get("/workspaces")
def list_all_workspaces(
    actor: SignedIn, deps: DepsOf, deleted: Deleted = False, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None
) -> Page[wire.Workspace]:
    """Of all projects: yours, those that are shared, and all of projects that you administer."""
    found = views.list_workspaces(deps, actor, project=None, limit=limit, cursor=cursor, deleted=deleted)
    return page(found, shapes.workspace)


@router.get(_ALL)
def list_workspaces(
    scope: ViewerOrJob, deps: DepsOf, deleted: Deleted = False, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None
) -> Page[wire.Workspace]:
    found = views.list_workspaces(
        deps, scope.actor, project=scope.project.name, limit=limit, cursor=cursor, deleted=deleted
    )
    return page(found, shapes.workspace)


@router.post(_ALL, status_code=201)
def create_workspace(body: wire.WorkspaceCreate, scope: Member, deps: DepsOf) -> wire.Workspace:
    """Reserve its size and begin to make it. 409 `does_not_fit` says what stands in the way."""
    made = creating.create(deps, scope.actor, scope.project, _wanted(deps, scope, body))
    return _shown(deps, scope, repositories.clone(deps, scope.actor, scope.project, made))


@router.post(f"{_ALL}/plan")
def plan_workspace(body: wire.WorkspaceCreate, scope: Member, deps: DepsOf) -> wire.WorkspacePlan:
    """Where it would go, how it would be made and how long that would take. Nothing is changed."""
    return shapes.plan(creating.plan(deps, scope.actor, scope.project, _wanted(deps, scope, body)))


@router.get(_ONE)
def get_workspace(workspace: str, scope: ViewerOrJob, deps: DepsOf) -> wire.Workspace:
    """By name or id."""
    return shapes.workspace(views.get(deps, scope.actor, scope.project, workspace))


@router.patch(_ONE)
def change_workspace(workspace: str, body: wire.WorkspaceChange, scope: Member, deps: DepsOf) -> wire.Workspace:
    """Resize it, share it or take that back."""
    if body.size_bytes is None and body.shared is None:
        raise BadRequest("Nothing to change is given.", hint="Give size_bytes or shared.")
    changed: Workspace | None = None
    if body.shared is not None:
        changed = changes.share(deps, scope.actor, scope.project, workspace, shared=body.shared)
    if body.size_bytes is not None:
        changed = changes.resize(deps, scope.actor, scope.project, workspace, body.size_bytes)
    assert changed is not None
    return _shown(deps, scope, changed)


@router.delete(_ONE, status_code=204)
def delete_workspace(
    workspace: str, scope: Member, deps: DepsOf,
    purge: Annotated[bool, Query(description="One in the bin: remove it for good.")] = False,
) -> None:  # fmt: skip
    """Move it to the bin. Refused while jobs have it."""
    if purge:
        changes.purge(deps, scope.actor, scope.project, workspace)
    else:
        changes.delete(deps, scope.actor, scope.project, workspace)


@router.post(f"{_ONE}/undelete")
def undelete_workspace(workspace: str, scope: Member, deps: DepsOf) -> wire.Workspace:
    """Bring one back from the bin."""
    return _shown(deps, scope, changes.undelete(deps, scope.actor, scope.project, workspace))


@router.get(f"{_ONE}/why")
def why_workspace(workspace: str, scope: Viewer, deps: DepsOf) -> wire.WorkspaceWhy:
    """Why it is in its state, where it is and how it was made."""
    found, reasons = views.why(deps, scope.actor, scope.project, workspace)
    return wire.WorkspaceWhy(state=found.state, reasons=list(reasons))


@router.get(f"{_RUN}/snapshots")
def list_run_snapshots(run: str, scope: ViewerOrJob, deps: DepsOf) -> wire.RunSnapshots:
    """Snapshots of workspaces that belong to a run, oldest first."""
    found = run_snapshots.of_run(deps, scope.actor, scope.project, run)
    return wire.RunSnapshots(items=[shapes.run_snapshot(one) for one in found])


@router.post(f"{_RUN}/restore", status_code=201)
def restore_run(run: str, body: wire.RunRestore, scope: Member, deps: DepsOf) -> wire.Workspace:
    """A new workspace as one of the run's was at its start: the same submission then begins with the same."""
    made = run_snapshots.restore_run(
        deps, scope.actor, scope.project, run, body.into, workspace=body.workspace, size=body.size_bytes
    )
    return _shown(deps, scope, made)


@router.get(f"{_ONE}/snapshots")
def list_workspace_snapshots(workspace: str, scope: ViewerOrJob, deps: DepsOf) -> wire.WorkspaceSnapshots:
    """Newest first."""
    found = snapshots.list_snapshots(deps, scope.actor, scope.project, workspace)
    return wire.WorkspaceSnapshots(items=[shapes.snapshot(workspace, one) for one in found])


@router.post(f"{_ONE}/snapshots", status_code=201)
def create_workspace_snapshot(
    workspace: str, body: wire.SnapshotCreate, scope: MemberOrJob, deps: DepsOf
) -> wire.WorkspaceSnapshot:
    """Freeze the tree; it is kept in the lake afterwards, in the background."""
    found, taken = snapshots.take(
        deps, scope.actor, scope.project, workspace, name=body.name, keep=_keep(body.keep)
    )  # fmt: skip
    return shapes.snapshot(found, taken)


@router.delete(f"{_ONE}/snapshots/{{snapshot}}", status_code=204)
def delete_workspace_snapshot(workspace: str, snapshot: str, scope: Member, deps: DepsOf) -> None:
    """By name or number. One that a run is linked to goes by its number only."""
    snapshots.remove(deps, scope.actor, scope.project, workspace, snapshot)


@router.get(f"{_ONE}/snapshots/{{snapshot}}/entries")
def list_workspace_snapshot_entries(
    workspace: str, snapshot: str, scope: Viewer, deps: DepsOf, path: Annotated[str, Query(max_length=20_000)] = "",
    limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None,
) -> Page[data_wire.TreeEntry]:  # fmt: skip
    """One directory of a kept snapshot."""
    found = diffs.entries(
        deps, scope.actor, scope.project, workspace, snapshot, path=path, limit=limit, cursor=cursor
    )  # fmt: skip
    return page(found, data_wire.TreeEntry.model_validate)


@router.get(f"{_ONE}/diff")
def diff_workspace_snapshots(
    workspace: str, before: str, after: str, scope: Viewer, deps: DepsOf, limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
) -> data_wire.Diff:  # fmt: skip
    """Paths that differ between two kept snapshots. 409 `not_ready` while one is not kept yet."""
    found = diffs.diff(deps, scope.actor, scope.project, workspace, before, after, limit=limit, cursor=cursor)
    return data_shapes.diff(found)


@router.post(f"{_ONE}/restore")
def restore_workspace(
    workspace: str, body: wire.WorkspaceRestoreRequest, scope: Member, deps: DepsOf
) -> wire.Workspace:  # fmt: skip
    """Put a snapshot in the place of the tree, after a snapshot of what is there; or into a new workspace."""
    if body.into is not None:
        made = restoring.restore_into(
            deps, scope.actor, scope.project, workspace, body.snapshot, body.into, size=body.size_bytes
        )
        return _shown(deps, scope, made)
    return _shown(deps, scope, restoring.restore(deps, scope.actor, scope.project, workspace, body.snapshot))


@router.post(f"{_ONE}/refresh")
def refresh_workspace(workspace: str, body: wire.WorkspaceRefresh, scope: Member, deps: DepsOf) -> wire.Workspace:
    """Replace a clone's content by what it was cloned from, as that is now, after a snapshot of what is there."""
    return _shown(deps, scope, restoring.refresh(deps, scope.actor, scope.project, workspace, body.source))


@router.get(f"{_ONE}/schedules")
def list_snapshot_schedules(workspace: str, scope: Viewer, deps: DepsOf) -> wire.SnapshotSchedules:
    found = schedules.list_schedules(deps, scope.actor, scope.project, workspace)
    return wire.SnapshotSchedules(items=[shapes.schedule(one) for one in found])


@router.put(f"{_ONE}/schedules/{{series}}")
def put_snapshot_schedule(
    workspace: str, series: str, body: wire.ScheduleCreate, scope: Member, deps: DepsOf
) -> wire.SnapshotSchedule:
    """Take snapshots of a series by themselves, in the place of the schedule that it has."""
    made = schedules.put(
        deps, scope.actor, scope.project, workspace, series=series, cron=body.cron, timezone=body.timezone,
        every_seconds=body.every_seconds, keep=_keep(body.keep),
    )  # fmt: skip
    return shapes.schedule(made)


@router.delete(f"{_ONE}/schedules/{{series}}", status_code=204)
def delete_snapshot_schedule(workspace: str, series: str, scope: Member, deps: DepsOf) -> None:
    """The snapshots stay."""
    schedules.remove(deps, scope.actor, scope.project, workspace, series)


def _wanted(deps: Deps, scope: Scope, body: wire.WorkspaceCreate) -> Wanted:
    source, origin = creating.source_of(
        deps, scope.actor, scope.project, dataset=body.dataset, workspace=body.clone
    )  # fmt: skip
    wanted = Wanted(
        name=body.name,
        size_bytes=creating.clone_size(origin, source, body.size_bytes),
        source=source,
        volume=body.volume,
        near=body.near,
        tier=body.tier,
        storage_class=body.storage_class or "",
        many_nodes=body.many_nodes,
        read_only=body.read_only,
        shared=body.shared,
        git_url=body.git,
        git_ref=body.git_ref,
    )
    return creating.placed_like(origin, wanted)


def _keep(text: str | None) -> KeepRule | None:
    return parse_keep(text) if text else None


def _shown(deps: Deps, scope: Scope, found: Workspace) -> wire.Workspace:
    with deps.db.read() as tx:
        return shapes.workspace(views.view(tx, scope.actor, found))
