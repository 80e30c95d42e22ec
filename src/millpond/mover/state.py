"""What earlier moves between this directory and this place have done: a file of lines that only grows while one runs.

Each line stands for one file that has arrived whole. A line that was cut off by a crash is left out; whatever is not
noted is looked at again.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import threading
from pathlib import Path
from typing import IO

from .keys import OWN
from .plan import Noted


class MoveState:
    """Safe for threads. `place` and `outwards` tell moves of one directory apart."""

    def __init__(self, directory: Path, place: str, *, outwards: bool) -> None:
        name = hashlib.sha256(f"{place}\n{outwards}".encode()).hexdigest()[:16]
        self._folder = directory / OWN
        self._path = self._folder / f"{name}.jsonl"
        self.temporary = self._folder / f"{name}.tmp"
        self._lock = threading.Lock()
        self.noted = self._read()
        self._file: IO[str] | None = None

    def open(self) -> None:
        """Begin a move: what an earlier one has left unfinished goes, and the notes are written anew, shorter."""
        self._folder.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(self.temporary, ignore_errors=True)
        self.temporary.mkdir()
        fresh = self._path.with_suffix(".new")
        with fresh.open("w", encoding="utf-8", errors="surrogateescape") as file:
            for path, one in self.noted.items():
                file.write(_line(path, one))
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self._path)
        self._file = self._path.open("a", encoding="utf-8", errors="surrogateescape")

    def note(self, path: str, one: Noted | None) -> None:
        """`None`: the file is gone."""
        with self._lock:
            if one is None:
                self.noted.pop(path, None)
            else:
                self.noted[path] = one
            assert self._file is not None
            self._file.write(_line(path, one))
            self._file.flush()

    def close(self) -> None:
        if self._file is not None:
            os.fsync(self._file.fileno())
            self._file.close()
        shutil.rmtree(self.temporary, ignore_errors=True)

    def _read(self) -> dict[str, Noted]:
        found: dict[str, Noted] = {}
        try:
            lines = self._path.read_text("utf-8", "surrogateescape").splitlines()
        except FileNotFoundError:
            return found
        for line in lines:
            try:
                path, etag, size, mtime_ns = json.loads(line)
            except ValueError:
                continue
            if etag is None:
                found.pop(path, None)
            else:
                found[path] = Noted(etag, size, mtime_ns)
        return found


def _line(path: str, one: Noted | None) -> str:
    told = [path, None, 0, 0] if one is None else [path, one.etag, one.size, one.mtime_ns]
    return json.dumps(told) + "\n"
