"""What becomes of workspaces and snapshots by what agents tell: tables."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from millpond.decide.workspaces.life import Told, ToldSnapshot, kept, observe, observe_snapshot
from millpond.model.workspace import (
    Consistency,
    How,
    SnapshotState,
    Workspace,
    WorkspaceRestore,
    WorkspaceSnapshot,
    WorkspaceSource,
    WorkspaceState,
)
from millpond.testing.clock import NOON

LATER = NOON + timedelta(minutes=1)
COMMIT = "c" * 64


def workspace(state: WorkspaceState = WorkspaceState.CREATING, **changes: Any) -> Workspace:
    made = Workspace(
        id="w", project_id="p", project="default", name="w", owner_id="u", owner="ada", volume_id="v", volume="nfs",
        volume_path="/mnt", site_id="s", site="lab", size_bytes=100, created_at=NOON, changed_at=NOON, attempt=7,
        state=state, how=How.REFLINK,
    )  # fmt: skip
    return replace(made, **changes)


def snapshot(state: SnapshotState = SnapshotState.TAKING, **changes: Any) -> WorkspaceSnapshot:
    made = WorkspaceSnapshot(
        workspace_id="w", number=1, name="first", created_by="ada", created_at=NOON, attempt=8, state=state
    )
    return replace(made, **changes)


READY = workspace(WorkspaceState.READY)


def test_a_report_of_an_older_attempt_changes_nothing() -> None:
    for state in WorkspaceState:
        before = workspace(state)
        assert observe(before, Told(attempt=6, state="absent", problem="old"), LATER) == before
    taken = snapshot()
    assert observe_snapshot(taken, ToldSnapshot(attempt=7, state="near"), READY) == taken


def test_it_is_made() -> None:
    working = observe(workspace(), Told(7, "working", done_files=3, done_bytes=30, problem="disk full"), LATER)
    assert (working.state, working.done_files, working.problem) == (WorkspaceState.CREATING, 3, "disk full")
    told = Told(7, "ready", how=How.REFLINK, consistency=Consistency.FROZEN, files=5, seconds=0.2)
    ready = observe(working, told, LATER)
    assert (ready.state, ready.took_seconds, ready.problem, ready.measure) == (WorkspaceState.READY, 0.2, None, True)
    assert observe(ready, told, LATER) == ready, "told again, nothing changes"
    other = observe(workspace(reasons=("a",)), Told(7, "ready", how=How.COPY, reason="no room for a layer"), LATER)
    assert other.reasons == ("made by copy instead: no room for a layer", "a")


def test_it_cannot_be_made() -> None:
    waits = observe(workspace(), Told(7, "failed", problem="store away", is_transient=True), LATER)
    assert (waits.state, waits.problem) == (WorkspaceState.CREATING, "store away")
    failed = observe(waits, Told(7, "failed", problem="the source is gone"), LATER)
    assert (failed.state, failed.problem) == (WorkspaceState.FAILED, "the source is gone")


def test_it_is_measured() -> None:
    ready = workspace(WorkspaceState.READY, measure=True)
    told = Told(7, "ready", files=2, unique_bytes=60, shared_bytes=50, measured_at=NOON, quota="measured")
    measured = observe(ready, told, LATER)
    assert (measured.used_bytes, measured.over_bytes, measured.measure) == (110, 10, False)
    older = replace(told, unique_bytes=1, measured_at=NOON - timedelta(hours=1))
    assert observe(measured, older, LATER).used_bytes == 110


def test_files_that_are_gone() -> None:
    lost = observe(workspace(WorkspaceState.READY), Told(7, "absent"), LATER)
    assert lost.state is WorkspaceState.FAILED
    assert "no longer on the volume" in (lost.problem or "")
    removed = observe(workspace(WorkspaceState.REMOVING), Told(7, "absent"), LATER)
    assert (removed.state, removed.attempt) == (WorkspaceState.REMOVING, 0)


def test_a_restore() -> None:
    wanted = WorkspaceRestore(9, WorkspaceSource(written="w@first"), safety=2, by="ada")
    before = workspace(WorkspaceState.RESTORING, restore=wanted)
    held_up = observe(before, Told(7, "ready", restore_problem="disk full"), LATER)
    assert held_up.restore is not None
    assert (held_up.state, held_up.restore.problem) == (WorkspaceState.RESTORING, "disk full")
    assert observe(before, Told(7, "ready", restored=8), LATER).state is WorkspaceState.RESTORING, "an earlier one"
    done = observe(held_up, Told(7, "ready", restored=9), LATER)
    assert (done.state, done.restore, done.measure) == (WorkspaceState.READY, None, True)


def test_what_was_frozen_as_a_whole_holds_what_was_measured() -> None:
    tree = workspace(WorkspaceState.READY, files=7, unique_bytes=40, shared_bytes=30)
    near = observe_snapshot(snapshot(), ToldSnapshot(8, "near", Consistency.ATOMIC, LATER), tree)
    assert (near.files, near.bytes) == (7, 70)
    counted = observe_snapshot(snapshot(), ToldSnapshot(8, "near", files=1, bytes=5), tree)
    assert (counted.files, counted.bytes) == (1, 5)


def test_a_snapshot_is_taken_and_kept() -> None:
    told = ToldSnapshot(8, "near", Consistency.ATOMIC, LATER, files=2, bytes=20, unique_bytes=1)
    near = observe_snapshot(snapshot(), told, READY)
    assert (near.state, near.is_near, near.taken_at, near.bytes) == (SnapshotState.NEAR, True, LATER, 20)
    keeping = observe_snapshot(near, ToldSnapshot(8, "keeping", unique_bytes=1, done_bytes=5), READY)
    assert (keeping.state, keeping.done_bytes) == (SnapshotState.NEAR, 5)
    done = observe_snapshot(keeping, ToldSnapshot(8, "kept", commit=COMMIT, unique_bytes=2), READY)
    assert (done.state, done.commit_id, done.is_near) == (SnapshotState.KEPT, COMMIT, True)
    assert observe_snapshot(snapshot(), replace(told, state="kept", commit=COMMIT), READY).state is SnapshotState.KEPT
    assert kept(near, COMMIT).commit_id == COMMIT


@pytest.mark.parametrize(
    ("before", "state", "is_near", "says"),
    [
        (snapshot(SnapshotState.NEAR, is_near=True), SnapshotState.FAILED, False, "lost before it was kept"),
        (snapshot(SnapshotState.KEPT, is_near=True, commit_id=COMMIT), SnapshotState.KEPT, False, ""),
        (snapshot(SnapshotState.REMOVING, is_near=True), SnapshotState.REMOVING, False, ""),
        (snapshot(SnapshotState.TAKING), SnapshotState.FAILED, False, "lost before it was kept"),
    ],
)
def test_a_near_copy_that_is_gone(before: WorkspaceSnapshot, state: SnapshotState, is_near: bool, says: str) -> None:
    after = observe_snapshot(before, ToldSnapshot(8, "absent"), READY)
    assert (after.state, after.is_near, says in (after.problem or "")) == (state, is_near, True)


def test_a_snapshot_that_cannot_be_taken() -> None:
    waits = observe_snapshot(snapshot(), ToldSnapshot(8, "failed", problem="disk full", is_transient=True), READY)
    assert (waits.state, waits.problem) == (SnapshotState.TAKING, "disk full")
    failed = observe_snapshot(waits, ToldSnapshot(8, "failed", problem="the tree is gone"), READY)
    assert (failed.state, failed.problem) == (SnapshotState.FAILED, "the tree is gone")
