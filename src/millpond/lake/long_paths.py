"""Files whose full path is longer than one system call takes: reached from directory to directory."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

# Linux takes 4,095 bytes; a tree's own path may be as long, below a root that has a length too.
CALL_MOST = 4095
_STEP_MOST = 3000
_DIRECTORY = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


@contextmanager
def opened_directory(root: bytes, directory: bytes) -> Iterator[int]:
    """A descriptor of `directory` (relative to `root`, empty for itself), however deep it lies."""
    descriptor = os.open(root, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    try:
        for step in _steps(directory):
            below = os.open(step, _DIRECTORY, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = below
        yield descriptor
    finally:
        os.close(descriptor)


def open_at(root: bytes, path: bytes, flags: int) -> int:
    """Open `path` below `root`, by its full name where that is short enough."""
    try:
        return os.open(root + b"/" + path, flags)
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
        return open_deep(root, path, flags)


def open_deep(root: bytes, path: bytes, flags: int) -> int:
    parent, _, name = path.rpartition(b"/")
    with opened_directory(root, parent) as directory:
        return os.open(name, flags, dir_fd=directory)


def read_deep_link(root: bytes, path: bytes) -> tuple[bytes, os.stat_result]:
    """The target of a link and the link's status."""
    parent, _, name = path.rpartition(b"/")
    with opened_directory(root, parent) as directory:
        status = os.stat(name, dir_fd=directory, follow_symlinks=False)
        return os.readlink(name, dir_fd=directory), status


@dataclass(frozen=True, slots=True)
class DeepEntry:
    """What `os.scandir` gives, for a directory that it cannot name."""

    name: bytes
    status: os.stat_result

    def is_dir(self, *, follow_symlinks: bool) -> bool:
        return stat.S_ISDIR(self.status.st_mode)

    def is_file(self, *, follow_symlinks: bool) -> bool:
        return stat.S_ISREG(self.status.st_mode)

    def is_symlink(self) -> bool:
        return stat.S_ISLNK(self.status.st_mode)

    def stat(self, *, follow_symlinks: bool) -> os.stat_result:
        return self.status


def list_deep(root: bytes, directory: bytes) -> list[DeepEntry]:
    """What a directory holds. What vanishes while it is looked at is left out."""
    entries: list[DeepEntry] = []
    with opened_directory(root, directory) as descriptor:
        for name in os.listdir(descriptor):
            with suppress(FileNotFoundError):
                status = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
                entries.append(DeepEntry(os.fsencode(name), status))
    return entries


def _steps(directory: bytes) -> Iterator[bytes]:
    """`directory` in pieces that each fit into one call."""
    piece: list[bytes] = []
    length = 0
    for part in directory.split(b"/") if directory else []:
        if length + len(part) > _STEP_MOST:
            yield b"/".join(piece)
            piece, length = [], 0
        piece.append(part)
        length += len(part) + 1
    if piece:
        yield b"/".join(piece)
