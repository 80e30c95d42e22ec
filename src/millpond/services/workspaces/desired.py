"""What an agent is to do for the workspaces on volumes that it tends."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal

from sqlalchemy import Connection

from millpond.db import jobs, projects, volumes, workspace_snapshots, workspaces
from millpond.model.agent import Agent
from millpond.model.volume import Volume
from millpond.model.workspace import (
    SnapshotState,
    Workspace,
    WorkspaceSnapshot,
    WorkspaceSource,
    WorkspaceState,
)
from millpond.services.deps import Deps
from millpond.services.workspaces import run_snapshots, sources, tokens

SnapshotWant = Literal["near", "kept", "absent"]


@dataclass(frozen=True, slots=True)
class WantedSource:
    """What its agent makes it from; `cached`: from a cached commit of the volume."""

    source: WorkspaceSource
    cached: bool


@dataclass(frozen=True, slots=True)
class WantedSnapshot:
    snapshot: WorkspaceSnapshot
    want: SnapshotWant
    # The commit of the kept snapshot before it.
    parent: str | None = None


@dataclass(frozen=True, slots=True)
class WantedRestore:
    attempt: int
    source: WantedSource


@dataclass(frozen=True, slots=True)
class WantedWorkspace:
    """What is to be done for a workspace (`wire.workspaces.DesiredWorkspace`)."""

    workspace: Workspace
    account: int
    token: str
    source: WantedSource
    reserve_bytes: int
    is_used: bool
    snapshots: Sequence[WantedSnapshot] = ()
    restore: WantedRestore | None = None


def wanted_workspaces(tx: Connection, deps: Deps, agent: Agent) -> list[WantedWorkspace]:
    """Those that something is to be done for, oldest first. What is not listed is left as it is."""
    found = workspaces.with_work(tx, agent.id)
    if not found:
        return []
    accounts = projects.accounts(tx, {one.project_id for one in found})
    taken = workspace_snapshots.of_workspaces(tx, [one.id for one in found])
    used = _used_by_jobs(tx, [one.id for one in found], is_taking=any(map(_is_taking, chain(*taken.values()))))
    places = {one.id: one for one in volumes.all_of(tx, agent.site_id)}
    listed = [
        _wanted(tx, deps, one, places[one.volume_id], accounts, taken.get(one.id, ()), in_use=one.id in used)
        for one in found
        if one.volume_id in places
    ]
    return [one for one in listed if one is not None]


def _used_by_jobs(tx: Connection, workspace_ids: Collection[str], *, is_taking: bool) -> set[str]:
    """Those that jobs have. While snapshots are taken, without jobs that wait for the one of their start: none of them
    writes yet."""
    placed = workspaces.living_jobs(tx, workspace_ids, placed=True)
    if not is_taking:
        return set(placed)
    known = jobs.by_ids(tx, {job_id for living in placed.values() for job_id, _, _ in living})
    holds = run_snapshots.start_holds(tx, [one for one in known.values() if one.status.started_at is None])
    waiting = {job_id for job_id, hold in holds.items() if hold.waits is not None}
    return {key for key, living in placed.items() if any(job_id not in waiting for job_id, _, _ in living)}


def _is_taking(snapshot: WorkspaceSnapshot) -> bool:
    return snapshot.state is SnapshotState.TAKING


def _wanted(
    tx: Connection, deps: Deps, workspace: Workspace, volume: Volume, accounts: Mapping[str, int],
    taken: Sequence[WorkspaceSnapshot], *, in_use: bool,
) -> WantedWorkspace | None:  # fmt: skip
    """None while it waits: for room, or for what it is to be made from."""
    source = sources.resolve(tx, workspace.source, workspace.volume_id, workspace.storage_class)
    if workspace.attempt == 0 or (workspace.state is WorkspaceState.CREATING and source is None):
        return None
    wanted = [one for one in (_snapshot(snapshot, taken) for snapshot in taken) if one is not None]
    restore = _restore(tx, workspace, taken)
    is_leaving = workspace.state is WorkspaceState.REMOVING
    at_rest = workspace.state in (WorkspaceState.READY, WorkspaceState.RESTORING, WorkspaceState.FAILED)
    if at_rest and not (wanted or restore or in_use or workspace.measure):
        return None
    return WantedWorkspace(
        workspace=workspace,
        account=accounts.get(workspace.project_id, 0),
        token=tokens.secret_of(deps.secret, workspace.id),
        source=_source(tx, source or workspace.source, workspace.volume_id),
        reserve_bytes=volume.reserve_bytes,
        is_used=in_use,
        snapshots=[] if is_leaving else wanted,
        restore=restore,
    )


def _snapshot(snapshot: WorkspaceSnapshot, taken: Sequence[WorkspaceSnapshot]) -> WantedSnapshot | None:
    want: SnapshotWant
    if snapshot.is_near and (snapshot.leaves_volume or snapshot.state is SnapshotState.REMOVING):
        want = "absent"
    elif snapshot.state is SnapshotState.TAKING:
        want = "near"
    elif snapshot.state is SnapshotState.NEAR:
        want = "kept"
    else:
        return None
    return WantedSnapshot(snapshot, want, None if want == "absent" else _parent(snapshot, taken))


def _parent(snapshot: WorkspaceSnapshot, taken: Sequence[WorkspaceSnapshot]) -> str | None:
    kept = [one.commit_id for one in taken if one.commit_id is not None and one.number < snapshot.number]
    return kept[-1] if kept else None


def _restore(
    tx: Connection, workspace: Workspace, taken: Sequence[WorkspaceSnapshot]
) -> WantedRestore | None:  # fmt: skip
    """Once what is there has been taken, and what is to come is there."""
    wanted = workspace.restore
    if wanted is None or not any(one.number == wanted.safety and one.is_there for one in taken):
        return None
    source = sources.resolve(tx, wanted.source, workspace.volume_id, workspace.storage_class)
    if source is None:
        return None
    return WantedRestore(wanted.attempt, _source(tx, source, workspace.volume_id))


def _source(tx: Connection, source: WorkspaceSource, volume_id: str) -> WantedSource:
    return WantedSource(source, sources.cached_on(tx, source, volume_id) is not None)
