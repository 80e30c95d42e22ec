"""Copying the content and the attributes of one file."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import suppress

_AT_ONCE = 64 << 20
_BLOCK = 512


def held(found: os.stat_result) -> int:
    """Bytes of a file without its holes."""
    return min(found.st_size, found.st_blocks * _BLOCK)


def copy_content(source: int, made: int, found: os.stat_result) -> int:
    """Copy the content and leave holes; how many bytes that were."""
    copied = 0
    for start, end in _parts(source, found):
        while start < end:
            written = _copy_part(source, made, start, min(_AT_ONCE, end - start))
            if not written:
                break  # it was made shorter meanwhile
            start, copied = start + written, copied + written
    os.ftruncate(made, found.st_size)
    return copied


def _copy_part(source: int, made: int, start: int, size: int) -> int:
    try:
        return os.copy_file_range(source, made, size, start, start)
    except OSError as error:
        if error.errno not in (errno.EXDEV, errno.EINVAL, errno.EOPNOTSUPP, errno.ENOSYS, errno.EPERM):
            raise
    return os.pwrite(made, os.pread(source, min(size, 1 << 20), start), start)


def _parts(source: int, found: os.stat_result) -> Iterator[tuple[int, int]]:
    """Where there is something between holes."""
    if found.st_blocks * _BLOCK >= found.st_size:
        yield 0, found.st_size
        return
    at = 0
    while at < found.st_size:
        try:
            start = os.lseek(source, at, os.SEEK_DATA)
            at = os.lseek(source, start, os.SEEK_HOLE)
        except OSError as error:
            if error.errno == errno.ENXIO:
                return  # nothing but a hole from here on
            yield at, found.st_size  # the file system does not tell
            return
        yield start, at


def copy_attributes(source: int, made: int) -> None:
    """Where the file system has them; those of a security module are made anew for each file."""
    with suppress(OSError):
        for name in os.listxattr(source):
            if not name.startswith("security."):
                os.setxattr(made, name, os.getxattr(source, name))
