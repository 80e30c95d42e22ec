"""Outputs of jobs that ended a moment ago, kept on the agent's disk so that fills here need not fetch them back.

The next step of a flow asks for them at once, and a volume of the site gets a copy of every job's outputs. What is kept
is found by digest, for fills of the same project only. Nothing depends on it: what is gone comes from the lake.
"""

from __future__ import annotations

import logging
import os
import shutil
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from millpond.lake.pages import Row
from millpond.model.tree import Content

log = logging.getLogger(__name__)

# The next step is started within seconds; a volume that has no room yet may take longer.
KEPT_SECONDS = 600.0
# They give way when the disk gets full.
LEAST_FREE = 0.1
# Each takes some 200 bytes of memory.
MOST_FILES = 100_000


@dataclass(frozen=True, slots=True)
class CommittedOutputs:
    """The commit of a job's outputs, and the path of every content that was read for it."""

    commit: str
    files: Mapping[bytes, bytes]


class FilesNoted:
    """Paths by digest, as a push tells of them; none if there are too many to remember."""

    def __init__(self) -> None:
        self.files: dict[bytes, bytes] = {}
        self._seen = 0

    def __call__(self, rows: Sequence[Row]) -> None:
        self._seen += len(rows)
        if self._seen > MOST_FILES:
            self.files.clear()
            return
        for path, _, content, _, digest in rows:
            if content in (Content.BLOB, Content.CHUNKS):
                self.files[digest] = path


@dataclass(frozen=True, slots=True)
class _Kept:
    project: str
    directory: Path
    files: Mapping[bytes, bytes]
    until: float


class KeptOutputs:
    """Moves outputs below `directory` and removes them after KEPT_SECONDS, when the disk gets full, or at a restart.

    Its methods block, and may be called from several threads.
    """

    def __init__(self, directory: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._directory = directory
        self._clock = clock
        self._kept: list[_Kept] = []
        self._lock = threading.Lock()
        shutil.rmtree(directory, ignore_errors=True)

    def keep(self, project: str, name: str, output: Path, files: Mapping[bytes, bytes]) -> None:
        """Take over the directory `output` of a job that has ended; do nothing where it cannot be moved."""
        self.forget_old()
        if not files:
            return
        try:
            self._directory.mkdir(mode=0o700, exist_ok=True)
            output.rename(self._directory / name)
        except OSError as error:
            log.info("outputs are not kept: %s", error)
            return
        with self._lock:
            self._kept.append(_Kept(project, self._directory / name, files, self._clock() + KEPT_SECONDS))

    def find(self, project: str) -> Callable[[bytes], bytes | None]:
        """Where the content of a digest lies; None for one that is not here. For as long as one fill takes."""
        self.forget_old()
        with self._lock:
            mine = [one for one in self._kept if one.project == project]

        def path_of(digest: bytes) -> bytes | None:
            for one in mine:
                if (path := one.files.get(digest)) is not None:
                    return os.fsencode(one.directory) + b"/" + path
            return None

        return path_of

    def forget_old(self) -> None:
        """Remove what is over, and the oldest while the disk is nearly full."""
        while (old := self._next_old()) is not None:
            shutil.rmtree(old.directory, ignore_errors=True)

    def _next_old(self) -> _Kept | None:
        with self._lock:
            is_old = self._kept and (self._kept[0].until <= self._clock() or self._is_full())
            return self._kept.pop(0) if is_old else None

    def _is_full(self) -> bool:
        try:
            space = shutil.disk_usage(self._directory)
        except OSError:
            return True
        return space.free < LEAST_FREE * space.total
