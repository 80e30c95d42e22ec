"""The request log on disk: JSON lines in files that are closed every minute or at a size, and then taken by the agent.

A thread of its own makes the rows and writes them, so requests never wait for it. What finds no room, in memory or on
disk, is dropped and counted: a full disk never stops serving. A row is durable about a second after its answer.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import threading
import time
from collections import deque
from pathlib import Path
from typing import IO, Any

import orjson

from .log_rows import LogEntry, row

logger = logging.getLogger(__name__)

MIB = 1024 * 1024
CLOSED = ".jsonl"
OPEN = ".jsonl.open"
_PAUSE_SECONDS = 0.5
_MOST_WAITING = 20_000
_MOST_WAITING_BYTES = 128 * MIB


class RequestLog:
    """The log of one router. `offer` is safe from any thread."""

    def __init__(
        self, directory: Path, since: str, *, file_seconds: float = 60.0, file_bytes: int = 16 * MIB, most_bytes: int
    ) -> None:
        self._directory = directory
        self._since = since
        self._file_seconds = file_seconds
        self._file_bytes = file_bytes
        self._most_bytes = most_bytes
        self._waiting: deque[LogEntry] = deque()
        self._waiting_bytes = 0
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._stopping = False
        self._file: IO[bytes] | None = None
        self._path: Path | None = None
        self._opened = 0.0
        self._number = 0
        self._rows = 0
        self._dropped = 0
        self._bytes = 0
        self._thread = threading.Thread(target=self._run, name="request-log", daemon=True)

    def start(self) -> None:
        """Close what an earlier router left open, and begin to write."""
        with contextlib.suppress(OSError):
            self._directory.mkdir(parents=True, exist_ok=True)
            for path in self._directory.glob(f"*{OPEN}"):
                close_leftover(path)
        self._thread.start()

    def offer(self, entry: LogEntry) -> None:
        weight = entry.weight
        with self._lock:
            if len(self._waiting) >= _MOST_WAITING or self._waiting_bytes + weight > _MOST_WAITING_BYTES:
                self._dropped += 1
                return
            self._waiting.append(entry)
            self._waiting_bytes += weight

    def limit(self, most_bytes: int) -> None:
        """From now on the log takes at most so much of the disk."""
        self._most_bytes = most_bytes

    def counts(self) -> dict[str, int]:
        return {"rows": self._rows, "dropped": self._dropped, "bytes": self._bytes}

    def stop(self) -> None:
        """Write what waits and close the file."""
        self._stopping = True
        self._wake.set()
        self._thread.join(timeout=10)

    def _run(self) -> None:
        while not self._stopping:
            self._wake.wait(_PAUSE_SECONDS)
            self._write_waiting()
            if self._file is not None and time.monotonic() - self._opened >= self._file_seconds:
                self._close()
        self._write_waiting()
        self._close()

    def _write_waiting(self) -> None:
        with self._lock:
            entries, self._waiting = self._waiting, deque()
            self._waiting_bytes = 0
        if not entries:
            return
        lines = [line for line in map(self._line, entries) if line]
        try:
            self._write(lines)
        except OSError as error:
            logger.warning("cannot write the request log: %s", error)
            self._dropped += len(lines)
            self._abandon()

    def _line(self, entry: LogEntry) -> bytes:
        try:
            return _encoded(row(entry)) + b"\n"
        except Exception:
            # Bodies are written by strangers: whatever one of them does, the others are logged.
            logger.exception("cannot log request %s", entry.id)
            self._dropped += 1
            return b""

    def _write(self, lines: list[bytes]) -> None:
        if self._used() + sum(map(len, lines)) > self._most_bytes:
            self._dropped += len(lines)
            self._close()
            return
        while lines:
            file = self._file or self._open()
            batch, size = 0, file.tell()
            while batch < len(lines) and (size < self._file_bytes or not batch):
                size += len(lines[batch])
                batch += 1
            file.write(b"".join(lines[:batch]))
            file.flush()
            os.fsync(file.fileno())
            self._bytes += sum(map(len, lines[:batch]))
            self._rows += batch
            del lines[:batch]
            if size >= self._file_bytes:
                self._close()

    def _used(self) -> int:
        """Bytes of the log on disk, with the closed files that nobody took yet."""
        with os.scandir(self._directory) as entries:
            return sum(entry.stat().st_size for entry in entries if entry.is_file())

    def _open(self) -> IO[bytes]:
        self._directory.mkdir(parents=True, exist_ok=True)
        self._number += 1
        name = f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{self._since}-{self._number:06d}"
        self._path = self._directory / f"{name}{OPEN}"
        self._file = self._path.open("ab")
        self._opened = time.monotonic()
        return self._file

    def _close(self) -> None:
        """Hand the file over: from here on it is the agent's."""
        if self._file is None or self._path is None:
            return
        try:
            self._file.close()
            self._path.replace(_closed_name(self._path))
        except OSError as error:
            logger.warning("cannot close %s: %s", self._path, error)
        self._file = self._path = None

    def _abandon(self) -> None:
        """After a failed write: keep the whole lines of the file, and begin another at the next row."""
        path, file = self._path, self._file
        self._file = self._path = None
        if file is not None and path is not None:
            with contextlib.suppress(OSError):
                file.close()
            with contextlib.suppress(OSError):
                close_leftover(path)


def _encoded(found: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(found)
    except TypeError:
        # Half characters, which a client's JSON may hold: the slower one writes them as it read them.
        return json.dumps(found, separators=(",", ":"), default=str).encode()


def close_leftover(path: Path) -> None:
    """Close a file that its writer left: cut off half a line at its end; remove it if nothing is left."""
    with path.open("r+b") as file:
        content = file.read()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            file.truncate(whole)
    if whole:
        path.replace(_closed_name(path))
    else:
        path.unlink()


def _closed_name(path: Path) -> Path:
    return path.with_name(path.name.removesuffix(OPEN) + CLOSED)
