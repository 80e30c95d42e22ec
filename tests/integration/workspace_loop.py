"""Freezes, clones, restores, keeps and removes workspaces, over and over, until it is killed.

`workspace_loop.py VOLUME LAKE HOW UID ATTEMPT`. Snapshots 1 and 2 of the workspace `base` are there before.
"""

from __future__ import annotations

import itertools
import sys
from functools import partial
from pathlib import Path

from millpond.blobs.location import open_store
from millpond.lake.nursery import Nursery
from millpond.lake.push import PushOptions, push_directory
from millpond.testing.lake import DirectLake
from millpond.volumes.volume import CacheVolume
from millpond.volumes.workspaces import tree_crew
from millpond.volumes.workspaces.create import NewWorkspace, begin_making, create_workspace
from millpond.volumes.workspaces.identities import identified
from millpond.volumes.workspaces.layout import WorkspaceFolder
from millpond.volumes.workspaces.probe import probe_workspaces
from millpond.volumes.workspaces.removal import remove_snapshot, remove_workspace
from millpond.volumes.workspaces.restore import restore_workspace
from millpond.volumes.workspaces.snapshots import NewSnapshot, SnapshotView, take_snapshot
from millpond.volumes.workspaces.stillness import nobody_writes
from millpond.volumes.workspaces.trees import TreeTools, of_snapshot

# So that processes take part with few files.
tree_crew.PROCESSES_FROM = 50


def open_tools(root: str, uid: int | None) -> TreeTools:
    volume = CacheVolume(Path(root), "v1")
    features = probe_workspaces(volume, uid=uid)
    return TreeTools(volume, Nursery(), uid, subvolumes=features.subvolumes, overlay=features.overlay)


def keep(folder: WorkspaceFolder, number: int, lake: DirectLake) -> str:
    """Push a snapshot as an agent does; its tree."""
    record = folder.identities(number)
    identify = partial(identified, record) if record.exists() else None
    with SnapshotView(folder, number) as tree:
        pushed = push_directory(tree, lake, options=PushOptions(stat_cache=folder.kept_stat, identify=identify))
    lake.accept(pushed.tree.root)
    return pushed.tree.root


def main(root: str, location: str, how: str, uid: int, attempt: int) -> None:
    tools, lake = open_tools(root, uid), DirectLake(open_store(location))
    base = WorkspaceFolder(tools.volume, "p1", "base")
    print("started", flush=True)
    for number in itertools.count(attempt, 2):
        restored = of_snapshot(base, 1 + number // 2 % 2)
        restore_workspace(tools, base, begin_making(tools, base, number), restored, number)
        take_snapshot(tools, base, NewSnapshot(number, f"s{number}"), nobody_writes)
        clone = WorkspaceFolder(tools.volume, "p1", f"clone{number}")
        new = NewWorkspace(number, how)
        create_workspace(tools, clone, begin_making(tools, clone, number), of_snapshot(base, number), new)
        keep(base, number, lake)
        remove_snapshot(base, number, tools.nursery)
        remove_workspace(clone, tools.nursery)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
