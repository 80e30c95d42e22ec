"""Snapshots: frozen copies of a tree beside it. One is there when its document is, which is written last."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from millpond.errors import NotFound
from millpond.volumes.fill import sync_file_system
from millpond.volumes.volume import explained, sync_directory
from millpond.volumes.workspaces import btrfs
from millpond.volumes.workspaces.identities import IdentityWriter
from millpond.volumes.workspaces.layout import (
    MAKING,
    VIEWS,
    SnapshotDocument,
    WorkspaceDocument,
    WorkspaceFolder,
    read_snapshot,
    read_workspace,
    write_snapshot,
)
from millpond.volumes.workspaces.overlay import unmount
from millpond.volumes.workspaces.removal import remove_made, sweep_snapshots
from millpond.volumes.workspaces.stillness import Freeze
from millpond.volumes.workspaces.tree_process import Done
from millpond.volumes.workspaces.trees import MergedView, Origin, TreeTools, copy_files, of_snapshot, of_workspace


@dataclass(frozen=True, slots=True)
class NewSnapshot:
    number: int
    name: str


def take_snapshot(tools: TreeTools, folder: WorkspaceFolder, wanted: NewSnapshot, freeze: Freeze) -> SnapshotDocument:
    """Freeze the tree of a workspace under a number. One that is there stays as it is. NotFound without workspace."""
    with explained(tools.volume):
        if (known := read_snapshot(folder, wanted.number)) is not None:
            return known
        document = read_workspace(folder)
        if document is None:
            raise NotFound(f"Workspace {folder.id} is not on the volume at {folder.volume.root}.")
        folder.snapshots.mkdir(mode=0o700, exist_ok=True)
        sweep_snapshots(folder, tools.nursery)
        making = folder.snapshots / f"{MAKING}{wanted.number}"
        try:
            return _take(tools, folder, document, wanted, making, freeze)
        except BaseException:
            with suppress(OSError):
                folder.identities(wanted.number).unlink(missing_ok=True)
                remove_made(making, tools.nursery)
            raise


def _take(
    tools: TreeTools,
    folder: WorkspaceFolder,
    document: WorkspaceDocument,
    wanted: NewSnapshot,
    making: Path,
    freeze: Freeze,
) -> SnapshotDocument:
    at = time.time()
    taken = SnapshotDocument(
        wanted.number, wanted.name, at, "atomic", is_subvolume=document.is_subvolume, layers=document.layers
    )
    if document.is_subvolume:
        btrfs.snapshot(folder.tree, making, read_only=True)
    else:
        with freeze() as still:
            done = _copy(tools, folder, wanted.number, making)
        torn = done.torn > 0
        taken = replace(taken, consistency="per-file" if torn else still.consistency)
        below = document if document.is_overlay else None
        files, size = (below.files, below.bytes) if below else (0, 0)
        taken = replace(taken, files=files + done.files, bytes=size + done.size)
        sync_file_system(making)
    making.rename(folder.snapshot(wanted.number))
    sync_directory(folder.snapshots)
    write_snapshot(folder, taken)
    return taken


def _copy(tools: TreeTools, folder: WorkspaceFolder, number: int, making: Path) -> Done:
    """The tree, or the uppermost layer of an overlay, with a record of what its files were."""
    origin = of_workspace(folder)
    assert origin.path is not None
    making.mkdir()
    with IdentityWriter(folder.identities(number)) as record:
        return copy_files(tools, origin, origin.path, making, "reflink", record)


class SnapshotView:
    """A near snapshot as one tree that can be read, while the block lasts: an overlay is mounted for that."""

    def __init__(self, folder: WorkspaceFolder, number: int) -> None:
        self._folder = folder
        self._origin: Origin = of_snapshot(folder, number)
        self._place = folder.snapshots / VIEWS / str(number)
        self._mounted: MergedView | None = None

    def __enter__(self) -> Path:
        assert self._origin.path is not None
        if not self._origin.is_overlay:
            return self._origin.path
        self._place.parent.mkdir(mode=0o700, exist_ok=True)
        unmount(self._place)
        self._mounted = MergedView(self._folder, self._origin, self._place)
        return self._mounted.__enter__()

    def __exit__(self, *exc: object) -> None:
        if self._mounted is not None:
            self._mounted.__exit__(*exc)
