"""What a run reports, on disk before a call returns: an append-only file per run and process, one JSON value a line.

The first line says which run of which server it is, and how to create it there. Each further line is one of:

    ["loss", 3, 0.25, 1763450000000]        a point: key, step, value, milliseconds since 1970
    {"params": {…}}, {"tags": {…}} …        fields of a RunBatch
    {"artifact": {"path": …, "file": …}}    a file whose bytes lie beside the spool
    {"cut": 7}                              the lines since the cut before are batch 7

Batches are cut before they are sent, so that whoever sends the file again after a crash sends the same batches, and the
server takes each once. A last line that a crash cut short is not counted.
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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from millpond.model.json_text import without_nul
from millpond.processes import exists
from millpond.wire.runs import RunCreate

log = logging.getLogger(__name__)

# Once everything is sent and the file is this long, it starts anew: a run of weeks must not fill the disk.
TRIM_BYTES = 1 << 20
TOUCH_SECONDS = 60.0
# Of a process on another machine nothing is known but when it last wrote.
ABANDONED_SECONDS = 600.0
# A batch has no more lines than this, beside those of the call that filled it.
BATCH_LINES = 5000


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
    # Tells the batches of this file from those of other processes.
    writer: str

    @classmethod
    def of_this_process(cls, server: str, project: str, run: str, create: RunCreate | None, writer: str) -> Header:
        pid = os.getpid()
        return cls(server, project, run, create, platform.node(), pid, _started(pid), writer)

    def to_json(self) -> dict[str, Any]:
        return {
            "server": self.server,
            "project": self.project,
            "run": self.run,
            "create": self.create.model_dump(mode="json") if self.create else None,
            "host": self.host,
            "process": self.process,
            "started": self.started,
            "writer": self.writer,
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
class BatchLines:
    """Lines of one batch: points as lists, everything else as documents."""

    number: int
    lines: Sequence[Any]


@dataclass(frozen=True, slots=True)
class ArtifactLines:
    """Artifacts that follow each other: path and the file in the spool's own folder."""

    files: Sequence[tuple[str, str]]


Group = BatchLines | ArtifactLines
_MOST_ARTIFACTS = 1000


class Spool:
    """One file, written by one process. Safe to use from several threads."""

    def __init__(self, path: Path, header: Header) -> None:
        self.path = path
        self.header = header
        self._lock = threading.Lock()
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._first = encode(header.to_json())
        # Unbuffered: a line that was written is in the hands of the operating system, whatever becomes of us.
        self._file = path.open("ab", buffering=0)
        self._file.write(self._first)
        self._size = len(self._first)
        self._sent = self._size
        # Lines behind the last cut, and its number.
        self._uncut = 0
        self._cut = -1
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

    @property
    def is_due(self) -> bool:
        """True if a batch is complete and not sent. A hint, read without the lock."""
        return self._uncut == 0 and self._sent < self._size

    def write(self, content: bytes, lines: int = 1) -> None:
        """Append whole lines or none: on a full disk, what was written of them is taken back."""
        with self._lock:
            self._append(content)
            self._uncut += lines
            if self._uncut >= BATCH_LINES:
                self._append_cut()

    def add_artifact(self, path: str, source: Path) -> None:
        """Copy a file beside the spool, so that what is sent is what it was when it was logged."""
        file = self._free_name()
        shutil.copyfile(source, self.artifacts / file)
        self._add_artifact(path, file)

    def add_content(self, path: str, content: bytes) -> None:
        """Keep bytes as an artifact."""
        file = self._free_name()
        (self.artifacts / file).write_bytes(content)
        self._add_artifact(path, file)

    def cut(self) -> None:
        """Make a batch of the lines behind the last cut."""
        with self._lock:
            if self._uncut:
                self._append_cut()

    def unsent(self) -> Iterator[tuple[Group, int]]:
        """What is complete and not sent yet, each with the offset to give to `sent` afterwards."""
        with self._lock:
            start, size = self._sent, self._size
        yield from _groups(_read_lines(self.path, start, size), self._cut, all_cut=True)

    def sent(self, offset: int) -> None:
        """Everything before `offset` is at the server."""
        with self._lock:
            self._sent = offset
            if self._sent == self._size and self._size > TRIM_BYTES:
                # The cut stays, so that whoever comes after a crash goes on counting.
                kept = self._first + encode({"cut": self._cut})
                self._file.truncate(len(self._first))
                self._size = len(self._first)
                self._append(kept[len(self._first) :])
                self._sent = self._size
                self._artifact_end = 0

    def close(self) -> None:
        """Stop writing; the file goes when nothing in it is left to send."""
        with self._lock:
            self._file.close()
            done = self._sent == self._size
        if done:
            remove(self.path)

    def _append(self, content: bytes) -> None:
        try:
            if self._file.write(content) != len(content):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))
        except OSError:
            self._file.truncate(self._size)
            raise
        self._size += len(content)

    def _append_cut(self) -> None:
        self._append(encode({"cut": self._cut + 1}))
        self._cut += 1
        self._uncut = 0

    def _add_artifact(self, path: str, file: str) -> None:
        with self._lock:
            # Lines before it are sent before it.
            if self._uncut:
                self._append_cut()
            self._append(encode({"artifact": {"path": path, "file": file}}))
            self._artifact_end = self._size

    def _free_name(self) -> str:
        self.artifacts.mkdir(mode=0o700, exist_ok=True)
        return f"{time.time_ns():020d}-{os.urandom(4).hex()}"


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


def read_all(path: Path) -> Iterator[Group]:
    """Everything that an ended process has left; lines behind its last cut are one more batch."""
    with path.open("rb") as file:
        start = len(file.readline())
    for group, _ in _groups(_read_lines(path, start, path.stat().st_size), -1, all_cut=False):
        yield group


def remove(path: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
    shutil.rmtree(path.with_suffix(".artifacts"), ignore_errors=True)


def encode(document: Any) -> bytes:
    """A line, without characters that no server can store."""
    line = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    return without_nul(line).encode(errors="replace") + b"\n"


def _started(process: int) -> str:
    try:
        # The 22nd field; the second may hold blanks and brackets, but ends with the last bracket.
        return Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()[19].decode()
    except OSError:
        return ""


def _groups(lines: Iterator[tuple[Any, int]], last: int, *, all_cut: bool) -> Iterator[tuple[Group, int]]:
    """Lines as batches and artifacts, each with the offset behind it."""
    batch: list[Any] = []
    files: list[tuple[str, str]] = []
    end = 0
    for line, offset in lines:
        artifact = line.get("artifact") if isinstance(line, dict) else None
        if files and (artifact is None or len(files) >= _MOST_ARTIFACTS):
            yield ArtifactLines(files), end
            files = []
        if artifact is not None:
            files, end = [*files, (artifact["path"], artifact["file"])], offset
        elif isinstance(line, dict) and "cut" in line:
            last = line["cut"]
            yield BatchLines(last, batch), offset
            batch = []
        else:
            batch.append(line)
            end = offset
    if files:
        yield ArtifactLines(files), end
    if batch and not all_cut:
        yield BatchLines(last + 1, batch), end


def _read_lines(path: Path, start: int, end: int) -> Iterator[tuple[Any, int]]:
    with path.open("rb") as file:
        file.seek(start)
        while file.tell() < end:
            raw = file.readline()
            if not raw.endswith(b"\n"):
                return
            try:
                yield json.loads(raw), file.tell()
            except ValueError as error:
                log.warning("spool_line_unreadable %s: %s", path, error)
