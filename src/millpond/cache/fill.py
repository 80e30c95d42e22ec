"""Filling: one attempt makes a commit's tree in a directory of its own, makes it durable and publishes it whole."""

from __future__ import annotations

import ctypes
import errno
import os
from dataclasses import dataclass
from pathlib import Path

from millpond.cache.evict import move_into, remove_tree
from millpond.cache.volume import CacheVolume, CommitPlace, check, explained, sync_directory
from millpond.errors import MillError, StoreUnavailable
from millpond.lake.fetch import FetchOptions, fetch_tree
from millpond.lake.transfer import Downloader, Progress


class FillCancelled(MillError):
    """The fill is no longer wanted."""


@dataclass(frozen=True, slots=True)
class FillOrder:
    """What to fill: a tree of the lake, its place on the volume, and the number that fences this attempt."""

    place: CommitPlace
    attempt: int
    tree: str


def begin_attempt(volume: CacheVolume, attempt: int) -> Path:
    """An empty directory for this attempt; what an interrupted run of it left goes to the trash."""
    with explained(volume):
        path = volume.attempt(attempt)
        if path.exists():
            volume.trash.mkdir(parents=True, exist_ok=True)
            move_into(volume.trash, path)
        path.mkdir(parents=True)
        return path


def fill(volume: CacheVolume, order: FillOrder, source: Downloader, *, progress: Progress | None = None) -> None:
    """Make the tree in the attempt's directory, every byte checked, and publish it.

    Call `begin_attempt` first. `progress` may raise FillCancelled to end it. Filling what is published already does
    nothing. Raises VolumeProblem and DiskFull for what the volume refuses, StoreUnavailable while the lake is away,
    Corrupt for bytes that are not what the tree names. However it ends, nothing of the attempt is left.
    """
    check(volume)
    attempt = volume.attempt(order.attempt)
    with explained(volume):
        try:
            if not volume.commit(order.place).is_dir():
                options = FetchOptions(read_only=True)
                fetch_tree(source, order.tree, attempt / "tree", options=options, progress=progress)
                publish(volume, order)
        except (ConnectionError, TimeoutError) as error:
            raise StoreUnavailable(f"The lake does not answer: {error}.") from error
        finally:
            # After a full disk above all: what is there of the tree must not stand in its own way.
            remove_tree(attempt)


def publish(volume: CacheVolume, order: FillOrder) -> None:
    """Make the attempt's tree durable, then visible, by one rename. Publishing what is published is success."""
    with explained(volume):
        tree = volume.attempt(order.attempt) / "tree"
        target = volume.commit(order.place)
        sync_file_system(tree)
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            tree.rename(target)
        except OSError as error:
            # On NFS a rename may be answered twice: what counts is whether the tree is there.
            if error.errno not in (errno.ENOENT, errno.EEXIST, errno.ENOTEMPTY) or not target.is_dir():
                raise
        for directory in (target.parent, target.parent.parent, volume.commits):
            sync_directory(directory)


def sync_file_system(path: Path) -> None:
    """Everything written to the file system of `path` so far survives a power cut: one call for a whole tree."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        if _libc.syncfs(descriptor) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), str(path))
    finally:
        os.close(descriptor)


_libc = ctypes.CDLL(None, use_errno=True)
