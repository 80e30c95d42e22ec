"""Restoring: a new tree is made beside the old one, takes its place in one step, and then the old one goes.

What is about to take the tree's place is written down before. So after a crash anybody can see on which side of that
step it was: the tree is the new one, or the old one still.
"""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from millpond.errors import NotFound
from millpond.volumes.fill import sync_file_system
from millpond.volumes.volume import explained, sync_directory
from millpond.volumes.workspaces.create import enforce_size, mount_workspace
from millpond.volumes.workspaces.layout import (
    PendingRestore,
    WorkspaceDocument,
    WorkspaceFolder,
    identity,
    read_workspace,
    write_workspace,
)
from millpond.volumes.workspaces.overlay import make_work, unmount
from millpond.volumes.workspaces.removal import remove_made
from millpond.volumes.workspaces.trees import MadeTree, Origin, TreeTools, make_tree

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


def restore_workspace(
    tools: TreeTools, folder: WorkspaceFolder, making: Path, origin: Origin, attempt: int, how: str = "reflink"
) -> WorkspaceDocument:
    """Put what `origin` holds in the place of the tree, whole or not at all. The same attempt does it once.

    `making` is a new directory of this attempt. NotFound without the workspace.
    """
    try:
        with explained(tools.volume):
            document = finish_restore(folder)
            if document is None:
                raise NotFound(f"Workspace {folder.id} is not on the volume at {folder.volume.root}.")
            if document.restored != attempt:
                document = _restore(tools, folder, making, origin, document, attempt, how)
            mount_workspace(folder, document)
            return document
    finally:
        with suppress(OSError):
            remove_made(making, tools.nursery)


def finish_restore(folder: WorkspaceFolder) -> WorkspaceDocument | None:
    """The document of a workspace, brought up to date if a restore was interrupted just behind its last step."""
    document = read_workspace(folder)
    if document is None or document.pending is None:
        return document
    pending = PendingRestore(**document.pending)
    part = folder.path / pending.part
    done = replace(document, pending=None)
    if part.is_dir() and identity(part) == pending.identity:
        done = replace(
            done,
            restored=pending.attempt,
            how=pending.how if pending.part == "tree" else document.how,
            layers=() if pending.part == "tree" else document.layers,
            is_subvolume=pending.is_subvolume,
        )
    write_workspace(folder.document, done)
    return done


def _restore(
    tools: TreeTools,
    folder: WorkspaceFolder,
    making: Path,
    origin: Origin,
    document: WorkspaceDocument,
    attempt: int,
    how: str,
) -> WorkspaceDocument:
    is_same_kind = document.is_overlay and origin.is_overlay and origin.layers == document.layers
    # The uppermost layer alone is replaced: it is copied, for the snapshot stays.
    made = make_tree(tools, folder, making, origin, "reflink" if is_same_kind else how, only_tree=not is_same_kind)
    new, old = making / made.part, folder.path / made.part
    enforce_size(making / "tree", replace(document, is_subvolume=made.is_subvolume))
    sync_file_system(making)
    write_workspace(folder.document, replace(document, pending=_pending(made, new, attempt)))
    if document.is_overlay:
        unmount(folder.tree)
        make_work(folder.work)
    exchange(new, old)
    sync_directory(folder.path)
    finished = finish_restore(folder)
    assert finished is not None
    if document.is_overlay and not finished.is_overlay:
        for left in (folder.upper, folder.work):
            left.rename(making / f"old-{left.name}")
    return finished


def _pending(made: MadeTree, new: Path, attempt: int) -> dict[str, object]:
    pending = PendingRestore(attempt, made.part, identity(new), made.how, made.is_subvolume)
    return pending._asdict()


def exchange(one: Path, other: Path) -> None:
    """Let two directories change places, in one step."""
    paths = (os.fsencode(one), os.fsencode(other))
    if _libc.renameat2(_AT_FDCWD, paths[0], _AT_FDCWD, paths[1], _RENAME_EXCHANGE) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(other))


_libc = ctypes.CDLL(None, use_errno=True)
