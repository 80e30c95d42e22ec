"""Removing trees of workspaces: hundreds of thousands of files by several processes, subvolumes at once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from millpond.errors import MillError
from millpond.lake.nursery import Nursery
from millpond.volumes.remove import remove_tree
from millpond.volumes.volume import CacheVolume, explained, sync_directory
from millpond.volumes.workspaces import btrfs
from millpond.volumes.workspaces.layout import (
    REMOVING,
    VIEWS,
    WorkspaceFolder,
    leftovers,
    read_snapshot,
    read_workspace,
    snapshot_numbers,
    workspaces,
)
from millpond.volumes.workspaces.overlay import LAYERS, layer_path, snapshot_layer, unmount
from millpond.volumes.workspaces.tree_crew import work_on_tree
from millpond.volumes.workspaces.tree_process import Task


def remove_workspace(folder: WorkspaceFolder, nursery: Nursery) -> bool:
    """Remove the workspace with its snapshots; False when something of it has to be removed later."""
    with explained(folder.volume):
        return not [path for path in set_workspace_aside(folder) if not remove_made(path, nursery)]


def set_workspace_aside(folder: WorkspaceFolder) -> list[Path]:
    """Take the workspace away with its snapshots, at once; what is to be removed then.

    Snapshots that are layers of other workspaces stay for those; layers that nobody else needs go along. Not while a
    workspace of the same project is being made.
    """
    with explained(folder.volume):
        found = read_workspace(folder)
        if found is not None and found.is_overlay:
            unmount(folder.tree)
        for number in snapshot_numbers(folder):
            _keep_layer(folder, number)
        aside = folder.removing()
        with suppress(FileNotFoundError):
            folder.path.rename(aside)
            aside.chmod(0o700)
            sync_directory(folder.project)
        return [*folder.leftovers(), *_unused_layers(folder)]


def remove_snapshot(folder: WorkspaceFolder, number: int, nursery: Nursery) -> None:
    """Remove what is near of a snapshot; nothing if there is nothing."""
    with explained(folder.volume):
        _keep_layer(folder, number)
        # The document goes first: without it the rest is what an attempt has left.
        folder.snapshot_document(number).unlink(missing_ok=True)
        folder.identities(number).unlink(missing_ok=True)
        if folder.snapshots.is_dir():
            sync_directory(folder.snapshots)
            sweep_snapshots(folder, nursery)


def sweep_snapshots(folder: WorkspaceFolder, nursery: Nursery) -> None:
    """Remove whatever among the snapshots has no document. While one is being taken, this is for whoever takes it."""
    for path in _undocumented(folder):
        remove_made(path, nursery)


def find_leftovers(volume: CacheVolume) -> list[Path]:
    """What attempts on this volume have left, while none is under way: for `remove_made`."""
    with explained(volume):
        left = [path for project in _projects(volume) for path in leftovers(project)]
        return left + [path for folder in workspaces(volume) for path in _undocumented(folder)]


def _undocumented(folder: WorkspaceFolder) -> list[Path]:
    try:
        names = os.listdir(folder.snapshots)
    except FileNotFoundError:
        return []
    known = {str(number) for number in snapshot_numbers(folder)}
    # What is being kept may be mounted to be read; that is no snapshot.
    return [folder.snapshots / name for name in names if name.partition(".")[0] not in known and name != VIEWS]


def remove_made(path: Path, nursery: Nursery) -> bool:
    """Remove a directory with all subvolumes in it, whose mounts are taken away first. True if it is gone."""
    if not path.is_dir() or path.is_symlink():
        path.unlink(missing_ok=True)
        return True
    for place in [path, *_places(path)]:
        unmount(place)
    for place in [*_places(path), path]:
        if place.is_dir() and btrfs.is_subvolume(place):
            btrfs.destroy(place)
    if not path.is_dir():
        return True
    # Nobody but the owner enters: files that jobs have made unreadable are removed all the same, but not listed.
    with suppress(OSError, MillError):
        work_on_tree(path, None, Task("remove"), nursery)
    return remove_tree(path)


def _unused_layers(folder: WorkspaceFolder) -> Iterator[Path]:
    """Layers of the project that no workspace and no snapshot needs any more, set aside."""
    home = folder.project / LAYERS
    if home.is_dir():
        used = {layer_path(folder, layer).name for layer in _used(folder)}
        for path in home.iterdir():
            if path.name not in used:
                path.rename(aside := folder.project / f"{REMOVING}layer-{path.name}")
                yield aside


def _keep_layer(folder: WorkspaceFolder, number: int) -> None:
    """Move a snapshot to the layers of the project, if another workspace lies over it."""
    layer, path = snapshot_layer(folder.id, number), folder.snapshot(number)
    if path.is_dir() and layer in _used(folder, but=folder.id):
        home = folder.project / LAYERS
        home.mkdir(mode=0o700, exist_ok=True)
        path.rename(home / f"{folder.id}-{number}")
        sync_directory(home)


def _used(folder: WorkspaceFolder, *, but: str = "") -> set[str]:
    """The layers that workspaces of the project and their snapshots lie over."""
    used: set[str] = set()
    for other in workspaces(folder.volume):
        if other.project_id == folder.project_id and other.id != but:
            found = read_workspace(other)
            used.update(found.layers if found else ())
            for number in snapshot_numbers(other):
                snapshot = read_snapshot(other, number)
                used.update(snapshot.layers if snapshot else ())
    return used


def _projects(volume: CacheVolume) -> Iterator[Path]:
    home = volume.root / "workspaces"
    if home.is_dir():
        yield from (path for path in home.iterdir() if path.is_dir())


def _places(path: Path) -> list[Path]:
    """Where a directory of this module may have a mount or a subvolume."""
    found = [path / name for name in ("tree", "merged", "upper")]
    for place in (path / "snapshots" / VIEWS, path / "snapshots"):
        with suppress(OSError), os.scandir(place) as entries:
            found += [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)]
    return found
