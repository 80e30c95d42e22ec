"""Taking one file that a volume has already: whether it is what it should be, and a link or a copy of it."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from millpond.errors import Corrupt
from millpond.lake.pages import Row, entry_of
from millpond.lake.streaming import entry_of_stream
from millpond.lake.target import CACHED_MTIME_NS, Target
from millpond.model.fill_source import DISK_KEY, VOLUME_KEY, SourceKey
from millpond.model.tree import Content, Entry, Kind
from millpond.volumes.reflink import clone
from millpond.volumes.source_watch import SourceGivenUp, SourceWatch

_BLOCK = 1 << 20
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
# Bits of a mode that count, and what they must be for each kind of file.
COMPARED = stat.S_IFMT(0xFFFF) | 0o555
MODES = {int(Kind.FILE): stat.S_IFREG | 0o444, int(Kind.EXECUTABLE): stat.S_IFREG | 0o555}


# For a path that does not begin in an open directory.
NO_DIRECTORY = -1


class ReusableFile(NamedTuple):
    """A file that may have the content of an entry, below an open directory."""

    directory: int
    path: bytes
    # It was checked before it was published; otherwise its content is read.
    is_trusted: bool = True
    source: SourceKey = VOLUME_KEY
    watch: SourceWatch | None = None


def is_taken(candidate: ReusableFile, row: Row, into: Target, came: Callable[[int], None]) -> bool:
    """Make the entry from this file if it looks right; False if it does not, or cannot be taken.

    `came` is told of bytes that are copied from elsewhere, as they come.
    """
    if candidate.source == DISK_KEY:
        # A job wrote it and may still have it open: it is never linked.
        return _copy_checked(candidate, entry_of(row), into, came)
    return _looks_right(candidate, row) and _take(candidate, row, into, came)


def is_content(directory: int, path: bytes, entry: Entry, read: Callable[[int], None] | None = None) -> bool:
    """Whether the file below the open `directory` has, byte for byte, the content that the entry names.

    An external entry names no content: no file is known to have it. `read` is told of every block, and may raise.
    """
    if entry.content == Content.EXTERNAL:
        return False
    try:
        descriptor = os.open(path, _OPEN, dir_fd=directory)
    except OSError:
        return False
    try:
        blocks = _blocks(descriptor) if read is None else _told(_blocks(descriptor), lambda block: read(len(block)))
        found = entry_of_stream(path, entry.size, blocks, lambda digest, data: None)
    except (Corrupt, OSError):  # fewer bytes or more, or some that the disk cannot read
        return False
    finally:
        os.close(descriptor)
    return found.digest == entry.digest


def has_mode(mode: int, kind: int) -> bool:
    """Whether this is a file that everybody may read, and execute if it is executable.

    Who may write is left aside: some file servers do not let that be changed.
    """
    return mode & COMPARED == MODES[kind]


def _looks_right(candidate: ReusableFile, row: Row) -> bool:
    """Whether a file is there, finished and untouched since: the last thing that whoever made it did was its time."""
    try:
        found = os.stat(candidate.path, dir_fd=candidate.directory, follow_symlinks=False)
    except OSError:
        return False
    return found.st_size == row[3] and found.st_mtime_ns == CACHED_MTIME_NS and has_mode(found.st_mode, row[1])


def _take(candidate: ReusableFile, row: Row, into: Target, came: Callable[[int], None]) -> bool:
    """Link the file; where that is not possible, copy it. What lies elsewhere is always copied, and checked."""
    directory, path, is_trusted, *_ = candidate
    if candidate.source != VOLUME_KEY:
        return _copy_checked(candidate, entry_of(row), into, came)
    if not is_trusted and not is_content(directory, path, entry_of(row)):
        return False
    return into.link_file(row[0], path, directory) or _copy(directory, path, entry_of(row), into)


def _copy(directory: int, path: bytes, entry: Entry, into: Target) -> bool:
    """A copy that shares its blocks, where the file system can do that; otherwise one of its own.

    Of that every byte passes through here, so it is checked; external entries name no digest to check against.
    """
    try:
        descriptor = os.open(path, _OPEN, dir_fd=directory)
    except OSError:
        return False

    def write(target: int) -> None:
        if clone(descriptor, target):
            return
        if entry.content != Content.EXTERNAL and not is_content(directory, path, entry):
            raise Corrupt("What the volume has is damaged.")
        _copy_bytes(descriptor, target)

    try:
        into.make_file(entry.path, entry.kind, write)
    except Corrupt:
        return False
    finally:
        os.close(descriptor)
    return True


def _copy_checked(candidate: ReusableFile, entry: Entry, into: Target, came: Callable[[int], None]) -> bool:
    """A copy whose bytes are checked while they are written: the file may change under whoever reads it twice.

    External entries name no digest to check against. False also for a source that gives too slowly.
    """
    watch = candidate.watch or SourceWatch()
    if watch.given_up is not None:
        return False
    try:
        descriptor = os.open(
            candidate.path, _OPEN, dir_fd=None if candidate.directory == NO_DIRECTORY else candidate.directory
        )
    except OSError:
        return False

    def noted(block: bytes) -> None:
        watch.take(len(block))
        came(len(block))

    def write(target: int) -> None:
        written = _told(_told(_readable(descriptor), noted), partial(write_all, target))
        found = entry_of_stream(entry.path, entry.size, written, lambda digest, data: None)
        if entry.content != Content.EXTERNAL and found.digest != entry.digest:
            raise Corrupt("It has other bytes than the commit.")

    try:
        with watch.asking():
            into.make_file(entry.path, entry.kind, write)
    except (Corrupt, SourceGivenUp):
        return False
    finally:
        os.close(descriptor)
    return True


def _copy_bytes(source: int, target: int) -> None:
    for block in _blocks(source):
        write_all(target, block)


def write_all(target: int, block: bytes) -> None:
    """Write the block to an open file, in as many calls as that takes."""
    view = memoryview(block)
    while view:
        view = view[os.write(target, view) :]


def _told(blocks: Iterator[bytes], tell: Callable[[bytes], None]) -> Iterator[bytes]:
    """The same blocks, each told of before it is used."""
    for block in blocks:
        tell(block)
        yield block


def _readable(descriptor: int) -> Iterator[bytes]:
    """The blocks of a file. Corrupt if it cannot be read: no fault of whoever writes."""
    try:
        yield from _blocks(descriptor)
    except OSError as error:
        raise Corrupt(f"It cannot be read: {error.strerror}.") from error


def _blocks(descriptor: int) -> Iterator[bytes]:
    offset = 0
    while block := os.pread(descriptor, _BLOCK, offset):
        offset += len(block)
        yield block
