"""Gives waiting workspaces the number under which their agent makes them, once there is room.

Inside a transaction that has the volume locked.
"""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy import Connection

from millpond.db import volumes, workspace_snapshots, workspaces
from millpond.decide.admission import Usable, workspaces_to_start
from millpond.decide.stock import Stock
from millpond.model.volume import Volume
from millpond.model.workspace import SnapshotState, WorkspaceSnapshot, WorkspaceState


def start_waiting(tx: Connection, volume: Volume, usable: Usable, stock: Stock) -> bool:
    """Whether there were any."""
    chosen = workspaces_to_start(usable, stock)
    for workspace_id in chosen:
        found = workspaces.lock(tx, workspace_id)
        assert found is not None, "its volume is locked, and it was there"
        workspaces.save(tx, replace(found, attempt=volumes.take_attempt(tx, volume.id)))
    return bool(chosen)


def renumber(tx: Connection, volume: Volume) -> None:
    """Another agent tends the volume: what the one before still does no longer counts."""
    for one in workspaces.of_volume(tx, volume.id):
        found = workspaces.lock(tx, one.id)
        if found is None:
            continue
        if found.attempt and found.state in (WorkspaceState.CREATING, WorkspaceState.REMOVING):
            found = replace(found, attempt=volumes.take_attempt(tx, volume.id))
        if found.restore is not None:
            again = replace(found.restore, attempt=volumes.take_attempt(tx, volume.id))
            found = replace(found, restore=again)
        workspaces.save(tx, found)
        for snapshot in workspace_snapshots.of_workspace(tx, one.id):
            if is_under_way(snapshot):
                attempt = volumes.take_attempt(tx, volume.id)
                workspace_snapshots.save(tx, replace(snapshot, attempt=attempt))


def is_under_way(snapshot: WorkspaceSnapshot) -> bool:
    """True while its agent has something to do for it."""
    if snapshot.state in (SnapshotState.TAKING, SnapshotState.NEAR):
        return True
    return snapshot.is_near and (snapshot.leaves_volume or snapshot.state is SnapshotState.REMOVING)
