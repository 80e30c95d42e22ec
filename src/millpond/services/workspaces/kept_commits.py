"""Commits that keep snapshots: what they say of their origin, and how a snapshot learns of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sqlalchemy import Connection

from millpond.db import commits, workspace_snapshots, workspaces
from millpond.decide.workspaces.life import kept
from millpond.errors import Conflict
from millpond.model.names import WORKSPACE_DATASET
from millpond.model.workspace import Begins, SnapshotState, Workspace


def note_kept(tx: Connection, workspace_id: str, number: int, commit_id: str) -> None:
    """In the transaction that makes the commit certain: whichever process dies then, the snapshot knows of it.

    Conflict for a snapshot that is gone or on its way out: nothing is kept for it any more.
    """
    workspace = workspaces.lock(tx, workspace_id)
    found = workspace_snapshots.get(tx, workspace_id, number)
    if found is None or found.state in (SnapshotState.REMOVING, SnapshotState.FAILED):
        raise Conflict("This snapshot is no longer wanted: it is not kept.")
    after = kept(found, commit_id)
    commit = commits.get(tx, commit_id) if workspace is not None else None
    if workspace is not None and commit is not None:
        # Of what storage has frozen, nobody has counted the files before. What it takes, holes aside, only the volume
        # knows.
        size = found.bytes if found.is_near and not workspace.is_claim else 0
        after = replace(after, files=commit.files, bytes=size or commit.bytes)
    workspace_snapshots.save(tx, after)


def lineage_of(tx: Connection, workspace_id: str, number: int) -> dict[str, Any]:
    """The workspace, the run it belongs to, and the commits that the tree began with."""
    workspace = workspaces.get(tx, workspace_id)
    snapshot = workspace_snapshots.get(tx, workspace_id, number)
    if workspace is None or snapshot is None:
        return {}
    lineage: dict[str, Any] = {"workspace": workspace.id, "snapshot": snapshot.name}
    lineage |= {"run": snapshot.run_id} if snapshot.run_id else {}
    inputs = _inputs(tx, workspace)
    return lineage | ({"inputs": inputs} if inputs else {})


def _inputs(tx: Connection, workspace: Workspace) -> list[str]:
    source = workspace.source
    if source.kind is Begins.COMMIT:
        return [f"{source.project}/{source.dataset}@{source.commit_id}"]
    if source.kind is Begins.SNAPSHOT:
        origin = workspace_snapshots.get(tx, source.workspace_id, source.number)
        if origin is not None and origin.commit_id is not None:
            return [f"{workspace.project}/{WORKSPACE_DATASET}@{origin.commit_id}"]
    return []
