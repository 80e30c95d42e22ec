"""What a run reports, on disk before it is sent: an append-only file per run and writer, one JSON document a line.

The first line says which run of which server it is, and how to create it there; each further line is one batch or one
artifact. A last line cut short by a crash is not counted. Lines are sent in order; sending one twice is harmless.
"""

from __future__ import annotations

import contextlib
import errno
import json
import logging
import os
import platform
import shutil
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from millpond.processes import exists
from millpond.wire.runs import RunCreate

log = logging.getLogger(__name__)

# Once everything is sent and the file is this long, it starts anew: a run of weeks must not fill the disk.
TRIM_BYTES = 1 << 20
TOUCH_SECONDS = 60.0
# Of a process on another machine nothing is known but when it last wrote.
ABANDONED_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Header:
    """`create` is None for the run of a job, which the server made."""

    server: str
    project: str
    run: str
    create: RunCreate | None
    host: str
    process: int
    # What tells this process from a later one with its number, where the platform says; else empty.
    started: str

    @classmethod
    def of_this_process(cls, server: str, project: str, run: str, create: RunCreate | None) -> Header:
        pid = os.getpid()
        return cls(server, project, run, create, platform.node(), pid, _started(pid))

    def to_json(self) -> dict[str, Any]:
        return {
            "server": self.server,
            "project": self.project,
            "run": self.run,
            "create": self.create.model_dump(mode="json") if self.create else None,
            "host": self.host,
            "process": self.process,
            "started": self.started,
        }

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Header:
        create = document["create"]
        return cls(**{**document, "create": RunCreate.model_validate(create) if create else None})

    def is_alive(self, written_at: float) -> bool:
        """Whether the process still runs that wrote here last at `written_at`; it does so every minute."""
        if self.host == platform.node() and os.name == "posix":
            return exists(self.process) and _started(self.process) == self.started
        return time.time() - written_at < ABANDONED_SECONDS


@dataclass(frozen=True, slots=True)
class BatchLine:
    """A `RunBatch` as JSON: built and sent without checks on the way, because a training loop may report very often."""

    batch: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ArtifactLine:
    """An artifact whose bytes lie in the spool's own folder under `file`."""

    path: str
    file: str


Line = BatchLine | ArtifactLine


class Spool:
    """One file, written by one process. Safe to use from several threads."""

    def __init__(self, path: Path, header: Header) -> None:
        self.path = path
        self.header = header
        self._lock = threading.Lock()
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._first = _encode(header.to_json())
        # Unbuffered: a line that was written is in the hands of the operating system, whatever becomes of us.
        self._file = path.open("ab", buffering=0)
        self._file.write(self._first)
        self._size = len(self._first)
        self._sent = self._size
        # Where the last artifact line ends: before it is sent, a newer file must not overtake it.
        self._artifact_end = 0

    @property
    def artifacts(self) -> Path:
        return self.path.with_suffix(".artifacts")

    @property
    def is_sent(self) -> bool:
        with self._lock:
            return self._sent == self._size

    @property
    def has_unsent_artifacts(self) -> bool:
        with self._lock:
            return self._sent < self._artifact_end

    def append(self, line: Line) -> None:
        """Write a whole line or none: on a full disk, what was written of it is taken back."""
        content = _encode(_document(line))
        with self._lock:
            try:
                written = self._file.write(content)
                if written != len(content):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))
            except OSError:
                self._file.truncate(self._size)
                raise
            self._size += len(content)
            if isinstance(line, ArtifactLine):
                self._artifact_end = self._size

    def keep_artifact(self, source: Path) -> str:
        """Copy a file beside the spool, so that what is sent is what it was when it was logged."""
        self.artifacts.mkdir(mode=0o700, exist_ok=True)
        name = f"{len(list(self.artifacts.iterdir())):06d}-{os.urandom(4).hex()}"
        shutil.copyfile(source, self.artifacts / name)
        return name

    def unsent(self) -> Iterator[tuple[Line, int]]:
        """Lines not sent yet, each with the offset to give to `sent` afterwards."""
        with self._lock:
            start, size = self._sent, self._size
        yield from _read_lines(self.path, start, size)

    def sent(self, offset: int) -> None:
        """Everything before `offset` is at the server."""
        with self._lock:
            self._sent = offset
            if self._sent == self._size and self._size > TRIM_BYTES:
                self._file.truncate(len(self._first))
                self._size = self._sent = len(self._first)
                self._artifact_end = 0

    def touch(self) -> None:
        """Show that this process is still there."""
        os.utime(self.path)

    def close(self) -> None:
        """Stop writing; the file goes when nothing in it is left to send."""
        with self._lock:
            self._file.close()
            done = self._sent == self._size
        if done:
            remove(self.path)


def read_header(path: Path) -> Header | None:
    """None for a file that does not begin as a spool does; such a file is left alone."""
    try:
        with path.open("rb") as file:
            return Header.from_json(json.loads(file.readline()))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        log.warning("spool_unreadable %s: %s", path, error)
        return None


def read_all(path: Path) -> Iterator[Line]:
    """Every whole line after the header."""
    with path.open("rb") as file:
        start = len(file.readline())
    for line, _ in _read_lines(path, start, path.stat().st_size):
        yield line


def remove(path: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
    shutil.rmtree(path.with_suffix(".artifacts"), ignore_errors=True)


def _started(process: int) -> str:
    try:
        # The 22nd field; the second may hold blanks and brackets, but ends with the last bracket.
        return Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()[19].decode()
    except OSError:
        return ""


def _read_lines(path: Path, start: int, end: int) -> Iterator[tuple[Line, int]]:
    with path.open("rb") as file:
        file.seek(start)
        while file.tell() < end:
            raw = file.readline()
            if not raw.endswith(b"\n"):
                return
            try:
                yield _parse(json.loads(raw)), file.tell()
            except (ValueError, KeyError, TypeError) as error:
                log.warning("spool_line_unreadable %s: %s", path, error)


def _parse(document: dict[str, Any]) -> Line:
    if "artifact" in document:
        return ArtifactLine(**document["artifact"])
    return BatchLine(document["batch"])


def _document(line: Line) -> dict[str, Any]:
    if isinstance(line, ArtifactLine):
        return {"artifact": {"path": line.path, "file": line.file}}
    return {"batch": line.batch}


def _encode(document: dict[str, Any]) -> bytes:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
