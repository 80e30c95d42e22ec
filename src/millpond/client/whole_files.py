"""A file that is whole under its name, or not there: written beside, made durable, renamed."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from millpond.errors import BadRequest, Conflict, DiskFull

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


@contextmanager
def whole_or_nothing(target: Path) -> Iterator[BinaryIO]:
    """A file beside `target` that takes its name at the end. What a killed process left there is overwritten.

    After an error nothing is left; DiskFull says that this was it. Conflict while another process writes there.
    """
    beside = target.with_name(f".{target.name}.part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with open(beside, "ab") as file:
            _lock(file, target)
            try:
                file.truncate(0)
                yield file
                file.flush()
                os.fsync(file.fileno())
                if fcntl is not None:  # while it is locked
                    beside.replace(target)
            except BaseException:
                beside.unlink(missing_ok=True)
                raise
        if fcntl is None:  # Windows renames no open file
            beside.replace(target)
        _sync(target.parent)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(
                f"Cannot write {target}: the disk is full. Nothing was left behind.",
                hint="Free space there, or name a file on another disk.",
            ) from error
        raise BadRequest(f"Cannot write {target}: {error.strerror or error}.") from error


def _lock(file: BinaryIO, target: Path) -> None:
    if fcntl is None:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise Conflict(f"Another process is writing {target}.", hint="Wait for it, or name another file.") from error


def _sync(directory: Path) -> None:
    if fcntl is None:
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
