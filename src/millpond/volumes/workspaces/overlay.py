"""Overlay mounts: a writable layer over files that are never written to.

Files of a cached commit belong to root and are read-only, and an overlay asks for the permissions of the uppermost
file: as a project's account nobody could write. So a layer lies between that has every file with the account as its
owner and an owner's permissions, but no content ("metacopy"): the kernel reads that from the commit below. Such a layer
is made once for each commit and shared by all workspaces that begin with it.
"""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from millpond.lake.nursery import Nursery
from millpond.volumes.fill import sync_file_system
from millpond.volumes.remove import remove_tree
from millpond.volumes.volume import CommitPlace, sync_directory
from millpond.volumes.workspaces.layout import WorkspaceFolder
from millpond.volumes.workspaces.tree_crew import TreeProgress, work_on_tree
from millpond.volumes.workspaces.tree_process import Task

LAYERS = ".layers"
# More layers than that make every lookup slow: then the uppermost one is copied.
MOST_LAYERS = 8
_OPTIONS = "metacopy=on,redirect_dir=on,index=off,xino=off"
_MS_RDONLY, _MS_NOSUID, _MS_NODEV = 1, 2, 4
_MNT_DETACH, _UMOUNT_NOFOLLOW = 2, 8


def commit_layers(place: CommitPlace) -> tuple[str, str]:
    """The two layers of a cached commit: owners and permissions, content."""
    return (
        f"owners:{place.dataset_id}/{place.commit_id}",
        f"commit:{place.project_id}/{place.dataset_id}/{place.commit_id}",
    )


def snapshot_layer(workspace_id: str, number: int) -> str:
    return f"snapshot:{workspace_id}/{number}"


def layer_path(folder: WorkspaceFolder, layer: str) -> Path:
    """Where a layer lies. A snapshot that was removed while others need it lies among the layers of the project."""
    kind, _, name = layer.partition(":")
    if kind == "commit":
        return folder.volume.commits / name
    aside = folder.project / LAYERS / name.replace("/", "-")
    if kind == "owners":
        return aside
    workspace_id, _, number = name.partition("/")
    near = folder.project / workspace_id / "snapshots" / number
    return aside if aside.is_dir() else near


def make_owners(
    folder: WorkspaceFolder, place: CommitPlace, uid: int, making: Path, nursery: Nursery, progress: TreeProgress
) -> bool:
    """Make the layer of owners and permissions of a cached commit, durable; False if it is there already."""
    path = layer_path(folder, commit_layers(place)[0])
    if path.is_dir():
        return False
    making.mkdir()
    task = Task("layer", uid=uid, plain_modes=True)
    work_on_tree(folder.volume.commit(place), making, task, nursery, progress=progress)
    sync_file_system(making)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    try:
        making.rename(path)
    except OSError as error:
        if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
            raise
        return False  # somebody else was faster
    sync_directory(path.parent)
    return True


def mount_overlay(lowers: Sequence[Path], target: Path, upper: Path | None = None, work: Path | None = None) -> None:
    """Mount at `target`; without `upper`, to read only. OSError where this process may not."""
    options = [_OPTIONS, "lowerdir=" + ":".join(map(_escaped, lowers))]
    if upper is not None and work is not None:
        options += [f"upperdir={_escaped(upper)}", f"workdir={_escaped(work)}"]
    flags = _MS_NOSUID | _MS_NODEV | (_MS_RDONLY if upper is None else 0)
    data = ",".join(options).encode(errors="surrogateescape")
    _check(_libc.mount(b"overlay", os.fsencode(target), b"overlay", ctypes.c_ulong(flags), data), target)


def unmount(target: Path) -> None:
    """Take the mount away, also while somebody has files open there. Nothing if there is none."""
    while target.is_mount():
        try:
            _check(_libc.umount2(os.fsencode(target), _MNT_DETACH | _UMOUNT_NOFOLLOW), target)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            return  # a subvolume has a device of its own, too


def mount_tree(folder: WorkspaceFolder, layers: Sequence[str]) -> None:
    """Mount the tree of a workspace, unless it is. Where it is not, the directory lets nobody in."""
    if not folder.tree.is_mount():
        lowers = [layer_path(folder, layer) for layer in layers]
        mount_overlay(lowers, folder.tree, folder.upper, folder.work)


def make_overlay_places(path: Path, uid: int | None) -> None:
    """The directories of a workspace with an overlay, in its new directory: an empty upper layer among them."""
    (path / "tree").mkdir(mode=0o000)
    make_work(path / "work")
    if not (path / "upper").is_dir():
        (path / "upper").mkdir(mode=0o755)
        (path / "upper").chmod(0o755)
        if uid is not None:
            os.chown(path / "upper", uid, uid)


def make_work(path: Path) -> None:
    """A directory where the kernel prepares what it puts into the upper layer: an old one may refer to another."""
    with suppress(FileNotFoundError):
        remove_tree(path)
    path.mkdir(mode=0o700)


def _escaped(path: Path) -> str:
    """The kernel cuts options at commas and layers at colons."""
    return "".join(f"\\{letter}" if letter in ",:\\" else letter for letter in str(path))


def _check(answer: int, target: Path) -> None:
    if answer != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(target))


def why_no_overlay(directory: Path, uid: int) -> str:
    """Try out a writable layer over a file of another owner; "" if an account could write to it, otherwise why not."""
    if os.geteuid() != 0:
        return "the agent does not run as root"
    for name in ("lower", "owners", "upper", "work", "merged"):
        (directory / name).mkdir()
    (directory / "lower" / "file").write_bytes(b"probe")
    (directory / "lower" / "file").chmod(0o444)
    nursery = Nursery()
    try:
        work_on_tree(directory / "lower", directory / "owners", Task("layer", uid=uid, plain_modes=True), nursery)
        layers = [directory / "owners", directory / "lower"]
        mount_overlay(layers, directory / "merged", directory / "upper", directory / "work")
        return _try_layer(directory / "merged" / "file", uid)
    except OSError as error:
        return f"the kernel refuses it: {error.strerror or error}"
    finally:
        nursery.close()
        with suppress(OSError):
            unmount(directory / "merged")


def _try_layer(file: Path, uid: int) -> str:
    found = file.stat()
    if (found.st_uid, found.st_mode & 0o777) != (uid, 0o644):
        return "files do not get the owner of the layer above"
    with file.open("r+b") as opened:
        if opened.read() != b"probe":
            return "files do not get their content from the layer below"
        opened.write(b"!")
    return ""


_libc = ctypes.CDLL(None, use_errno=True)
