"""Workspaces appear whole, by one rename; what an attempt leaves is found by its name and removed."""

from __future__ import annotations

import errno
import os
import shutil
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from millpond.errors import VolumeProblem
from millpond.volumes.fill import sync_file_system
from millpond.volumes.volume import explained, sync_directory
from millpond.volumes.workspaces import btrfs
from millpond.volumes.workspaces.layout import (
    WorkspaceDocument,
    WorkspaceFolder,
    make_door,
    read_workspace,
    write_workspace,
)
from millpond.volumes.workspaces.overlay import mount_tree
from millpond.volumes.workspaces.removal import remove_made
from millpond.volumes.workspaces.stillness import Freeze, nobody_writes
from millpond.volumes.workspaces.trees import MadeTree, Origin, TreeTools, described, make_tree


@dataclass(frozen=True, slots=True)
class NewWorkspace:
    """What was asked for."""

    attempt: int
    how: str
    size_bytes: int = 0
    # How much the origin holds, as far as that is known.
    files: int = 0
    bytes: int = 0


def begin_making(tools: TreeTools, folder: WorkspaceFolder, attempt: int) -> Path:
    """A directory for what an attempt makes. What earlier attempts at this workspace have left is removed."""
    with explained(tools.volume):
        make_door(folder, tools.uid)
        making = folder.making(attempt)
        # Made before others are removed: one that was stopped and wakes up late finds its own gone.
        making.mkdir(mode=0o700)
        for path in folder.leftovers():
            if path != making:
                remove_made(path, tools.nursery)
        return making


def create_workspace(
    tools: TreeTools,
    folder: WorkspaceFolder,
    making: Path,
    origin: Origin,
    wanted: NewWorkspace,
    freeze: Freeze = nobody_writes,
) -> WorkspaceDocument:
    """Make the workspace in `making`, durable, and let it appear. One that is there stays as it is.

    Of an origin that jobs may write to, `freeze` keeps them from it while it is read.
    """
    try:
        with explained(tools.volume):
            found = read_workspace(folder)
            if found is None:
                found = _create(tools, folder, making, origin, wanted, freeze)
            mount_workspace(folder, found)
            return found
    finally:
        with suppress(OSError):
            remove_made(making, tools.nursery)


def mount_workspace(folder: WorkspaceFolder, document: WorkspaceDocument) -> None:
    """Have the tree of an overlay mounted; others need nothing."""
    if document.is_overlay:
        mount_tree(folder, document.layers)


def set_size(folder: WorkspaceFolder, document: WorkspaceDocument, size_bytes: int) -> WorkspaceDocument:
    """Change what the workspace may take, where the file system enforces it."""
    if size_bytes == document.size_bytes:
        return document
    changed = replace(document, size_bytes=size_bytes)
    enforce_size(folder.tree, changed)
    write_workspace(folder.document, changed)
    return changed


def enforce_size(tree: Path, document: WorkspaceDocument) -> None:
    if document.is_subvolume and document.size_bytes:
        with suppress(OSError):  # without quotas it is measured
            btrfs.limit(tree, document.size_bytes)


def _held(made: MadeTree, wanted: NewWorkspace) -> tuple[int, int]:
    """Files and bytes of the tree; of an overlay those below its uppermost layer, which never change."""
    done = made.done
    if made.how == "overlay":
        return max(0, wanted.files - done.files), max(0, wanted.bytes - done.size)
    return done.files or wanted.files, done.size or wanted.bytes


def _create(
    tools: TreeTools, folder: WorkspaceFolder, making: Path, origin: Origin, wanted: NewWorkspace, freeze: Freeze
) -> WorkspaceDocument:
    must_freeze = origin.is_live and not (origin.is_subvolume and tools.subvolumes)
    with freeze() if must_freeze else nobody_writes() as still:
        made = make_tree(tools, folder, making, origin, wanted.how)
    consistency = "per-file" if made.done.torn else still.consistency
    about = WorkspaceDocument(folder.id, wanted.attempt, made.how, consistency=consistency, source=origin.name)
    files, size = _held(made, wanted)
    document = replace(described(about, made), size_bytes=wanted.size_bytes, files=files, bytes=size)
    enforce_size(making / "tree", document)
    if made.how in ("subvolume", "overlay") and origin.kept_stat is not None and origin.kept_stat.exists():
        shutil.copyfile(origin.kept_stat, making / origin.kept_stat.name)
    (making / "snapshots").mkdir(mode=0o700)
    write_workspace(making / "workspace.json", document)
    if tools.uid is not None:
        # Jobs pass through it on their way to the tree, where no view leads them there.
        os.chown(making, -1, tools.uid)
        making.chmod(0o710)
    sync_file_system(making)
    try:
        making.rename(folder.path)
    except OSError as error:
        if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
            raise
        raise VolumeProblem(f"{folder.path} already exists and is not a workspace.", hint="Move it away.") from error
    sync_directory(folder.project)
    return document
