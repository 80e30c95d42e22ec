"""The end of a log that has come and is in no chunk yet: a plain file of this server's data directory.

It is named after where it begins: `PLACEMENT.log` from 0, `PLACEMENT.BEGIN.log` from there; `PLACEMENT-RANK…` are those
of the processes of a distributed job. A log of the time before chunks is one long tail.
"""

from __future__ import annotations

import fcntl
import os
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from millpond.errors import DiskFull
from millpond.model.log import LogName
from millpond.services.deps import Deps

# Several logs share a lock; more of them would only be more files.
_LOCKS = 64

_NAME = re.compile(r"(?P<log>[0-9a-z]+(?:-[0-9]+)?)(?:\.(?P<begin>[0-9]+))?\.log")


@dataclass(frozen=True, slots=True)
class Tail:
    """An open file: it can be read to its end as it is now, whatever becomes of its name."""

    path: Path
    begin: int
    end: int
    descriptor: int

    def read(self, begin: int, end: int) -> bytes:
        """Bytes of the log from `begin` to `end`, as far as the file has them."""
        begin, end = max(begin, self.begin), min(end, self.end)
        parts = []
        while begin < end and (part := os.pread(self.descriptor, end - begin, begin - self.begin)):
            parts.append(part)
            begin += len(part)
        return b"".join(parts)

    def write(self, offset: int, data: bytes) -> Tail:
        """The tail with these bytes, which begin no later than it ends."""
        view, at = memoryview(data), offset - self.begin
        try:
            while view:
                written = os.pwrite(self.descriptor, view, at)
                view, at = view[written:], at + written
        except OSError as error:
            raise _full() from error
        return Tail(self.path, self.begin, max(self.end, offset + len(data)), self.descriptor)


def folder(deps: Deps, job_id: str) -> Path:
    return deps.settings.logs_dir / job_id[:2] / job_id


@contextmanager
def turn(deps: Deps, log: LogName) -> Iterator[None]:
    """One writer at a time for each log: a request that was given up and its repetition may both be here."""
    path = deps.settings.logs_dir / "locks" / f"{zlib.crc32(log.written.encode()) % _LOCKS:02d}"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise _full() from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def opened(deps: Deps, job_id: str, log: LogName) -> Iterator[Tail | None]:
    """The tail there is, if any: after a crash between two of them, the one that reaches further."""
    tails = [tail for begin, path in _paths(deps, job_id, log) if (tail := _open(path, begin, os.O_RDWR))]
    try:
        yield max(tails, key=lambda tail: (tail.end, tail.begin), default=None)
    finally:
        for tail in tails:
            os.close(tail.descriptor)


def start(deps: Deps, job_id: str, log: LogName, begin: int, data: bytes) -> None:
    """A tail from `begin` on, with `data`, in the place of any other."""
    path = folder(deps, job_id) / (f"{log.written}.{begin}.log" if begin else f"{log.written}.log")
    path.parent.mkdir(parents=True, exist_ok=True)
    old = [other for _, other in _paths(deps, job_id, log) if other != path]
    tail = _open(path, begin, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    assert tail is not None
    try:
        tail.write(begin, data)
    finally:
        os.close(tail.descriptor)
    for other in old:
        other.unlink(missing_ok=True)


def remove(deps: Deps, job_id: str) -> None:
    """All tails of a job. Removing what is not there is success."""
    place = folder(deps, job_id)
    if place.is_dir():
        for path in place.iterdir():
            path.unlink(missing_ok=True)
        place.rmdir()


def remove_one(deps: Deps, job_id: str, log: LogName) -> None:
    """Everything of it is in chunks."""
    for _, path in _paths(deps, job_id, log):
        path.unlink(missing_ok=True)
    with suppress(OSError):  # another attempt of the job may have one
        folder(deps, job_id).rmdir()


def _paths(deps: Deps, job_id: str, log: LogName) -> list[tuple[int, Path]]:
    place = folder(deps, job_id)
    try:
        names = os.listdir(place)
    except FileNotFoundError:
        return []
    found = [(match, place / name) for name in names if (match := _NAME.fullmatch(name))]
    return [(int(match["begin"] or 0), path) for match, path in found if match["log"] == log.written]


def _open(path: Path, begin: int, flags: int) -> Tail | None:
    try:
        descriptor = os.open(path, flags, 0o600)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _full() from error
    return Tail(path, begin, begin + os.fstat(descriptor).st_size, descriptor)


def _full() -> DiskFull:
    return DiskFull("The server cannot write a job's log.", hint="Free some space in its data directory.")
