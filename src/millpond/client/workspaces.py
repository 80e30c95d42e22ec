"""Workspaces over the API."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from millpond.client.http import Api, segment
from millpond.client.paths import run_path
from millpond.errors import Conflict, NotFound
from millpond.model.workspace import SnapshotState, WorkspaceState
from millpond.retry import Backoff, RetryPolicy
from millpond.wire.data import Diff, TreeEntry
from millpond.wire.workspace_views import (
    RunRestore,
    RunSnapshot,
    RunSnapshots,
    ScheduleCreate,
    SnapshotCreate,
    SnapshotSchedule,
    SnapshotSchedules,
    Workspace,
    WorkspaceChange,
    WorkspaceCreate,
    WorkspacePlan,
    WorkspaceRefresh,
    WorkspaceRestoreRequest,
    WorkspaceSnapshot,
    WorkspaceSnapshots,
    WorkspaceWhy,
)

# A clone takes a tenth of a second or an hour: asked soon at first, then less and less often.
_POLL = RetryPolicy(first=0.05, longest=0.5)
_UNDER_WAY = (WorkspaceState.CREATING, WorkspaceState.RESTORING)

Changed = Callable[[Workspace], None]


def create_workspace(api: Api, project: str, request: WorkspaceCreate) -> Workspace:
    return api.send("POST", _all(project), Workspace, request)


def plan_workspace(api: Api, project: str, request: WorkspaceCreate) -> WorkspacePlan:
    """Where it would go, how it would be made and how long that would take."""
    return api.send("POST", f"{_all(project)}/plan", WorkspacePlan, request)


def list_workspaces(
    api: Api, project: str | None, *, deleted: bool = False, at_most: int | None = None
) -> Iterator[Workspace]:
    """Of one project, or of all that one may see."""
    path = _all(project) if project else "/workspaces"
    return api.items(path, Workspace, deleted=deleted or None, at_most=at_most)


def get_workspace(api: Api, project: str, workspace: str) -> Workspace:
    return api.get(_one(project, workspace), Workspace)


def change_workspace(
    api: Api, project: str, workspace: str, *, size_bytes: int | None = None, shared: bool | None = None
) -> Workspace:
    return api.send("PATCH", _one(project, workspace), Workspace, WorkspaceChange(size_bytes=size_bytes, shared=shared))


def delete_workspace(api: Api, project: str, workspace: str, *, purge: bool = False) -> None:
    """Into the bin; with `purge` one that is there, for good."""
    api.request("DELETE", _one(project, workspace), params={"purge": purge or None})


def undelete_workspace(api: Api, project: str, workspace: str) -> Workspace:
    return api.send("POST", f"{_one(project, workspace)}/undelete", Workspace)


def why_workspace(api: Api, project: str, workspace: str) -> WorkspaceWhy:
    return api.get(f"{_one(project, workspace)}/why", WorkspaceWhy)


def take_snapshot(
    api: Api, project: str, workspace: str, *, name: str | None = None, keep: str | None = None
) -> WorkspaceSnapshot:  # fmt: skip
    request = SnapshotCreate(name=name, keep=keep)
    return api.send("POST", f"{_one(project, workspace)}/snapshots", WorkspaceSnapshot, request)


def list_snapshots(api: Api, project: str, workspace: str) -> Sequence[WorkspaceSnapshot]:
    """Newest first."""
    return api.get(f"{_one(project, workspace)}/snapshots", WorkspaceSnapshots).items


def delete_snapshot(api: Api, project: str, workspace: str, snapshot: str) -> None:
    api.request("DELETE", f"{_one(project, workspace)}/snapshots/{segment(snapshot)}")


def snapshot_entries(
    api: Api, project: str, workspace: str, snapshot: str, path: str = "", at_most: int | None = None
) -> Iterator[TreeEntry]:
    """One directory of a kept snapshot."""
    where = f"{_one(project, workspace)}/snapshots/{segment(snapshot)}/entries"
    return api.items(where, TreeEntry, path=path or None, at_most=at_most)


def restore_workspace(
    api: Api, project: str, workspace: str, snapshot: str, *, into: str | None = None, size_bytes: int | None = None
) -> Workspace:
    request = WorkspaceRestoreRequest(snapshot=snapshot, into=into, size_bytes=size_bytes)
    return api.send("POST", f"{_one(project, workspace)}/restore", Workspace, request)


def list_run_snapshots(api: Api, project: str, run: str) -> Sequence[RunSnapshot]:
    """Those that belong to a run, oldest first."""
    return api.get(f"{run_path(project, run)}/snapshots", RunSnapshots).items


def restore_run(
    api: Api, project: str, run: str, into: str, *, workspace: str | None = None, size_bytes: int | None = None
) -> Workspace:
    request = RunRestore(into=into, workspace=workspace, size_bytes=size_bytes)
    return api.send("POST", f"{run_path(project, run)}/restore", Workspace, request)


def refresh_workspace(api: Api, project: str, workspace: str, source: str | None = None) -> Workspace:
    return api.send("POST", f"{_one(project, workspace)}/refresh", Workspace, WorkspaceRefresh(source=source))


def diff_snapshots(
    api: Api, project: str, workspace: str, before: str, after: str, *, limit: int = 1000, cursor: str | None = None
) -> Diff:
    path = f"{_one(project, workspace)}/diff"
    return api.get(path, Diff, before=before, after=after, limit=limit, cursor=cursor)


@contextmanager
def compared(api: Api, project: str, workspace: str, before: str, after: str | None) -> Iterator[str]:
    """The later snapshot, once both are kept. Without `after` it is one of what is there now, removed afterwards."""
    _wait_unless_pattern(api, project, workspace, before)
    if after is not None:
        _wait_unless_pattern(api, project, workspace, after)
        yield after
        return
    # The rule is for those whose removal somebody has interrupted.
    taken = take_snapshot(api, project, workspace, name="diff", keep="1d")
    try:
        yield wait_for_snapshot(api, project, workspace, taken.name).name
    finally:
        delete_snapshot(api, project, workspace, str(taken.number))


def put_schedule(api: Api, project: str, workspace: str, series: str, request: ScheduleCreate) -> SnapshotSchedule:
    return api.send("PUT", f"{_one(project, workspace)}/schedules/{segment(series)}", SnapshotSchedule, request)


def delete_schedule(api: Api, project: str, workspace: str, series: str) -> None:
    api.request("DELETE", f"{_one(project, workspace)}/schedules/{segment(series)}")


def list_schedules(api: Api, project: str, workspace: str) -> Sequence[SnapshotSchedule]:
    return api.get(f"{_one(project, workspace)}/schedules", SnapshotSchedules).items


def wait_for_workspace(
    api: Api, project: str, workspace: str, *, timeout: float | None = None, changed: Changed = lambda _: None
) -> Workspace:
    """Until it is ready. Conflict if it failed or a restore did, TimeoutError after `timeout` seconds."""
    ends, pauses = None if timeout is None else time.monotonic() + timeout, Backoff(_POLL)
    while True:
        found = get_workspace(api, project, workspace)
        changed(found)
        if found.state not in _UNDER_WAY:
            break
        _rest(ends, pauses, f"Workspace {workspace} is {found.state.value}: {found.problem or 'not ready yet'}.")
    if found.state is not WorkspaceState.READY:
        raise Conflict(f"Workspace {workspace} is {found.state.value}: {found.problem}")
    return found


def wait_for_snapshot(
    api: Api, project: str, workspace: str, snapshot: str, *, kept: bool = True, timeout: float | None = None
) -> WorkspaceSnapshot:
    """Until it is kept, or with `kept=False` near. Conflict if it failed, TimeoutError after `timeout` seconds."""
    ends, pauses = None if timeout is None else time.monotonic() + timeout, Backoff(_POLL)
    while True:
        found = next((one for one in list_snapshots(api, project, workspace) if _is(one, snapshot)), None)
        if found is None:
            raise NotFound(f"Workspace {workspace} has no snapshot {snapshot!r}.")
        if found.state is SnapshotState.FAILED:
            raise Conflict(f"Snapshot {found.name} failed: {found.problem}")
        if found.state is SnapshotState.KEPT or (not kept and found.near):
            return found
        _rest(ends, pauses, f"Snapshot {found.name} is {found.state.value}: {found.problem or 'not kept yet'}.")


def _wait_unless_pattern(api: Api, project: str, workspace: str, snapshot: str) -> None:
    """`daily*` is whichever is there."""
    if "*" not in snapshot:
        wait_for_snapshot(api, project, workspace, snapshot)


def _is(one: WorkspaceSnapshot, written: str) -> bool:
    return written in (one.name, str(one.number))


def _rest(ends: float | None, pauses: Backoff, words: str) -> None:
    if ends is not None and time.monotonic() >= ends:
        raise TimeoutError(words)
    time.sleep(pauses.next())


def _all(project: str) -> str:
    return f"/projects/{segment(project)}/workspaces"


def _one(project: str, workspace: str) -> str:
    return f"{_all(project)}/{segment(workspace)}"
