"""What becomes of a workspace and its snapshots by what the agent tells of them.

Level-triggered: the same report changes nothing a second time, one under an older attempt nothing at all.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from millpond.model.quantity import format_bytes
from millpond.model.workspace import (
    Consistency,
    How,
    SnapshotState,
    Workspace,
    WorkspaceRestore,
    WorkspaceSnapshot,
    WorkspaceState,
)


@dataclass(frozen=True, slots=True)
class Told:
    """What an agent tells of a workspace (`wire.workspaces.WorkspaceSeen`)."""

    attempt: int
    state: str
    how: How | None = None
    reason: str = ""
    consistency: Consistency | None = None
    done_files: int = 0
    done_bytes: int = 0
    seconds: float = 0.0
    files: int = 0
    unique_bytes: int | None = None
    shared_bytes: int | None = None
    measured_at: datetime | None = None
    quota: str = "measured"
    restored: int = 0
    restore_problem: str | None = None
    problem: str | None = None
    is_transient: bool = False


@dataclass(frozen=True, slots=True)
class ToldSnapshot:
    """The same of one of its snapshots."""

    attempt: int
    state: str
    consistency: Consistency | None = None
    at: datetime | None = None
    files: int = 0
    bytes: int = 0
    unique_bytes: int = 0
    done_bytes: int = 0
    commit: str | None = None
    is_near: bool = True
    problem: str | None = None
    is_transient: bool = False


def observe(before: Workspace, told: Told, now: datetime) -> Workspace:
    """The workspace after a report."""
    if told.attempt != before.attempt:
        return before
    match before.state:
        case WorkspaceState.CREATING:
            return _created(before, told, now)
        case WorkspaceState.REMOVING:
            gone = told.state == "absent"
            return replace(before, attempt=0 if gone else before.attempt, problem=None if gone else told.problem)
        case WorkspaceState.READY | WorkspaceState.RESTORING if told.state == "absent":
            lost = "Its files are no longer on the volume. Kept snapshots of it can be restored into a new workspace."
            return replace(before, state=WorkspaceState.FAILED, problem=lost, restore=None, changed_at=now)
        case WorkspaceState.RESTORING:
            return _restored(_measured(before, told), told, now)
        case WorkspaceState.READY:
            problem = told.problem if told.state != "ready" else None
            return replace(_measured(before, told), problem=problem)
    return before


def observe_snapshot(before: WorkspaceSnapshot, told: ToldSnapshot, of: Workspace) -> WorkspaceSnapshot:
    """The snapshot `of` a workspace after a report."""
    if told.attempt != before.attempt:
        return before
    if told.state == "absent":
        return _left_volume(before)
    match before.state:
        case SnapshotState.TAKING:
            return _taken(before, _counted(told, of))
        case SnapshotState.NEAR:
            if told.state == "kept" and told.commit is not None:
                # Of what storage has frozen, nobody knew before how much it is.
                known = replace(before, files=told.files or before.files, bytes=told.bytes or before.bytes)
                return kept(_measured_snapshot(known, told), told.commit)
            return replace(_measured_snapshot(before, told), done_bytes=told.done_bytes, problem=told.problem)
        case SnapshotState.KEPT if before.is_near:
            return _measured_snapshot(before, told)
    return before


def kept(before: WorkspaceSnapshot, commit_id: str) -> WorkspaceSnapshot:
    """The snapshot with the commit that keeps it. One that is on its way out stays so, and one that is kept at once is
    there when its agent tells what it holds."""
    if before.state in (SnapshotState.REMOVING, SnapshotState.TAKING):
        return replace(before, commit_id=commit_id)
    return replace(before, state=SnapshotState.KEPT, commit_id=commit_id, problem=None, done_bytes=before.bytes)


def _created(before: Workspace, told: Told, now: datetime) -> Workspace:
    if told.state == "failed" and not told.is_transient:
        problem = told.problem or "The workspace could not be made."
        return replace(before, state=WorkspaceState.FAILED, problem=problem, changed_at=now)
    if told.state != "ready":
        return replace(before, done_files=told.done_files, done_bytes=told.done_bytes, problem=told.problem)
    other = told.how is not None and told.how is not before.how
    because = f": {told.reason}" if told.reason else ""
    reasons = (f"made by {(told.how or before.how).value} instead{because}", *before.reasons) if other else None
    return replace(
        _measured(before, told),
        state=WorkspaceState.READY,
        how=told.how or before.how,
        reasons=reasons or before.reasons,
        consistency=told.consistency,
        took_seconds=told.seconds,
        done_files=told.files,
        files=told.files,
        problem=None,
        ready_at=now,
        changed_at=now,
        measure=told.measured_at is None,
    )


def _restored(before: Workspace, told: Told, now: datetime) -> Workspace:
    wanted = before.restore
    if wanted is None:
        return replace(before, state=WorkspaceState.READY)
    if told.restored == wanted.attempt:
        return replace(
            before, state=WorkspaceState.READY, restore=None, problem=None, changed_at=now, measure=True,
            consistency=told.consistency or before.consistency,
        )  # fmt: skip
    return replace(before, restore=_with_problem(wanted, told.restore_problem))


def _with_problem(wanted: WorkspaceRestore, problem: str | None) -> WorkspaceRestore:
    return wanted if wanted.problem == problem else replace(wanted, problem=problem)


def _measured(before: Workspace, told: Told) -> Workspace:
    is_news = told.measured_at is not None and (before.measured_at is None or told.measured_at > before.measured_at)
    if not is_news:
        return replace(before, quota=told.quota)
    return replace(
        before,
        quota=told.quota,
        files=told.files,
        unique_bytes=before.unique_bytes if told.unique_bytes is None else told.unique_bytes,
        shared_bytes=before.shared_bytes if told.shared_bytes is None else told.shared_bytes,
        measured_at=told.measured_at,
        measure=False,
    )


def _taken(before: WorkspaceSnapshot, told: ToldSnapshot) -> WorkspaceSnapshot:
    if told.state == "failed" and not told.is_transient:
        problem = told.problem or "The snapshot could not be taken."
        return replace(before, state=SnapshotState.FAILED, problem=problem)
    if told.state in ("taking", "failed"):
        return replace(before, problem=told.problem)
    near = replace(
        _measured_snapshot(before, told),
        state=SnapshotState.NEAR,
        is_near=told.is_near,
        consistency=told.consistency,
        taken_at=told.at or before.created_at,
        files=told.files,
        bytes=told.bytes,
        problem=None,
    )
    return kept(near, told.commit) if told.state == "kept" and told.commit is not None else near


def _counted(told: ToldSnapshot, of: Workspace) -> ToldSnapshot:
    """What a file system has frozen as a whole holds what the tree did when it was last measured."""
    is_unknown = told.is_near and not told.files and not told.bytes
    return replace(told, files=of.files, bytes=of.used_bytes) if is_unknown else told


def _left_volume(before: WorkspaceSnapshot) -> WorkspaceSnapshot:
    """Asked for, or lost: what was kept is there all the same."""
    if before.state is SnapshotState.REMOVING or before.commit_id is not None:
        return replace(before, is_near=False, leaves_volume=False, unique_bytes=0)
    if before.state is SnapshotState.FAILED:
        return before
    lost = "Its copy on the volume was lost before it was kept."
    return replace(before, state=SnapshotState.FAILED, is_near=False, unique_bytes=0, problem=lost)


def _measured_snapshot(before: WorkspaceSnapshot, told: ToldSnapshot) -> WorkspaceSnapshot:
    return replace(before, unique_bytes=told.unique_bytes)


def too_large(workspace: Workspace) -> str | None:
    """What to do about one that holds more than its size where nothing but measuring keeps it to that; else None."""
    if workspace.quota != "measured" or not workspace.over_bytes:
        return None
    used, size = format_bytes(workspace.used_bytes), format_bytes(workspace.size_bytes)
    return (
        f"workspace {workspace.name} holds {used}, more than its size of {size}. Resize it: "
        f"mill workspace resize {workspace.name} SIZE; or go back: mill workspace restore {workspace.name}@SNAPSHOT"
    )
