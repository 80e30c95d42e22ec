"""How far one attempt at a fill is, and what it waits for: noted by working threads, looked at by the agent's loop."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from millpond.lake.transfer import Moved
from millpond.model.fill_source import Given, SourceKey, SourceKind, far_bytes, of_kind
from millpond.volumes.fill import FillCancelled
from millpond.volumes.source_tally import SourceTally
from millpond.wire.observed import SourceSeen

RECENT_SECONDS = 10.0
_NOT_THE_LAKE = frozenset(SourceKind) - {SourceKind.LAKE, SourceKind.OUTSIDE}


class Recent(NamedTuple):
    """What was done in the last seconds."""

    bytes: int
    files: int
    seconds: float


class RecentProgress:
    """The last RECENT_SECONDS of a transfer, of which bytes and files were counted since it began."""

    def __init__(self, began: float) -> None:
        self._points: deque[tuple[float, int, int]] = deque([(began, 0, 0)])

    def add(self, now: float, came: int, files: int) -> Recent:
        self._points.append((now, came, files))
        while len(self._points) > 2 and now - self._points[1][0] >= RECENT_SECONDS:
            self._points.popleft()
        then, came_before, files_before = self._points[0]
        return Recent(came - came_before, files - files_before, now - then)


class FillProgress:
    """Called by the working thread with what it has moved; ends the work if it is cancelled."""

    def __init__(
        self,
        cancelled: threading.Event,
        tally: SourceTally | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`tally` is of a fill: what each source has given to it."""
        self._cancelled, self._clock = cancelled, clock
        self._tally = tally or SourceTally()
        self._began = clock()
        self._recent = RecentProgress(self._began)
        self._moved = Moved()
        self._waits: str | None = None
        self._before: tuple[int, ...] = (0, 0, 0)

    def __call__(self, moved: Moved, /) -> None:
        if self._cancelled.is_set():
            raise FillCancelled
        self._moved = moved

    def waits(self, why: str) -> None:
        """Told by any thread who does not answer, and why."""
        self._waits = why

    def look(self) -> dict[str, Any] | None:
        """What the server should know: bytes as they come, and why none do. None while there is nothing to tell."""
        now, moved = self._clock(), self._moved
        given, receiving = self._tally.given(), self._tally.receiving
        came = far_bytes(given) + receiving
        # What is made without the lake is counted when a whole page of files is; its sources know sooner.
        near = max(moved.local, of_kind(given, _NOT_THE_LAKE).bytes)
        done = moved.bytes - moved.local + near + receiving
        if (state := (done, moved.files, came)) != self._before:
            self._before, self._waits = state, None
        elif not any(state) and self._waits is None:
            return None
        recent = self._recent.add(now, came, moved.files)
        return {
            "done_bytes": done,
            "done_files": moved.files,
            "seconds": now - self._began,
            "recent_bytes": max(0, recent.bytes),
            "recent_files": recent.files,
            "recent_seconds": recent.seconds,
            "sources": reported(given),
            "problem": self._waits,
        }


def reported(given: Mapping[SourceKey, Given]) -> list[SourceSeen]:
    return [SourceSeen(kind=key.kind, id=key.id, bytes=one.bytes) for key, one in given.items()]
