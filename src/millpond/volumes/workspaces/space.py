"""How much a workspace takes: what only it has, and what it shares with clones and with what it was made from."""

from __future__ import annotations

from dataclasses import dataclass

from millpond.lake.nursery import Nursery
from millpond.volumes.volume import explained
from millpond.volumes.workspaces.layout import WorkspaceFolder, read_workspace
from millpond.volumes.workspaces.tree_crew import work_on_tree
from millpond.volumes.workspaces.tree_process import Task


@dataclass(frozen=True, slots=True)
class WorkspaceSpace:
    """Bytes that are allocated for the tree, snapshots aside. `size` is what its files add up to."""

    unique_bytes: int
    shared_bytes: int
    files: int
    size: int


def measure_workspace(folder: WorkspaceFolder, nursery: Nursery) -> WorkspaceSpace | None:
    """Look at every file of the tree; of an overlay at the uppermost layer, all else is shared. None without it."""
    with explained(folder.volume):
        found = read_workspace(folder)
        if found is None:
            return None
        done = work_on_tree(folder.upper if found.is_overlay else folder.tree, None, Task("measure"), nursery)
        if not found.is_overlay:
            return WorkspaceSpace(done.unique, done.shared, done.files, done.size)
        # What lies below never changes.
        return WorkspaceSpace(done.unique, done.shared + found.bytes, done.files + found.files, done.size + found.bytes)


def measure_snapshot(folder: WorkspaceFolder, number: int, nursery: Nursery) -> int:
    """Bytes that only this snapshot has."""
    with explained(folder.volume):
        return work_on_tree(folder.snapshot(number), None, Task("measure"), nursery).unique
