"""One task of the server for a cached commit: its execution and what to report."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from millpond.lake.throttle import TokenBucket
from millpond.lake.transfer import Moved
from millpond.model.fill_source import Given, SourceKey, far_bytes
from millpond.volumes.fill import FillCancelled
from millpond.volumes.source_tally import SourceTally
from millpond.volumes.volume import CommitPlace
from millpond.wire.desired import DesiredFill
from millpond.wire.observed import FillSeen, SourceSeen

PROGRESS_SECONDS = 0.5
RECENT_SECONDS = 10.0
_UNDER_WAY = {"present": "filling", "absent": "filling", "found": "filling", "verified": "verifying"}


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


class Work:
    """`changed` is called when there is news that the server should have at once."""

    def __init__(self, desired: DesiredFill, changed: Callable[[], None]) -> None:
        self.desired = desired
        self.cancelled = threading.Event()
        self.task: asyncio.Task[None] | None = None
        # It was begun and met a full disk, as quotas do that show no number: trying again may fetch much for nothing.
        self.ran_full = False
        # What is being made, once it is begun.
        self.tree: Path | None = None
        # What passes while it lets others go first.
        self.low = TokenBucket()
        self._changed = changed
        self._woken = asyncio.Event()
        self.seen = self._told(_UNDER_WAY[desired.want])

    @property
    def key(self) -> tuple[int, str]:
        return self.desired.attempt, self.desired.want

    @property
    def place(self) -> CommitPlace:
        wanted = self.desired
        return CommitPlace(wanted.project_id, wanted.dataset_id, wanted.commit_id)

    @property
    def is_going_on(self) -> bool:
        return self.task is not None and not self.task.done()

    @property
    def is_filling(self) -> bool:
        return self.desired.want == "present" and self.is_going_on and not self.cancelled.is_set()

    @property
    def goes_first(self) -> bool:
        """True if somebody waits for it."""
        return not self.desired.prefetch

    def update(self, desired: DesiredFill) -> None:
        """Take what changes while it goes on: how urgent it is."""
        self.desired = self.desired.model_copy(update={"prefetch": desired.prefetch})
        low = desired.low_bytes_per_second
        self.low.set_rate(None if low is None else float(low))

    def pause(self, seconds: float) -> None:
        """Wait in a working thread. FillCancelled if the task is cancelled meanwhile."""
        if self.cancelled.wait(seconds):
            raise FillCancelled

    def cancel(self) -> None:
        self.cancelled.set()
        self._woken.set()

    async def rest(self, seconds: float) -> None:
        """Wait, at most until the task is cancelled."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._woken.wait(), seconds)

    def tell(self, state: str, **found: Any) -> None:
        self.seen = self._told(state, **found)
        self._changed()

    def progress(self, loop: asyncio.AbstractEventLoop, tally: SourceTally | None = None) -> Callable[[Moved], None]:
        """Called by the working thread: records progress, and stops the work if the task is cancelled.

        `tally` is of a fill: what each source has given to it.
        """
        began = told = time.monotonic()
        recent, counts = RecentProgress(began), tally or SourceTally()

        def progress(moved: Moved) -> None:
            nonlocal told
            if self.cancelled.is_set():
                raise FillCancelled
            if time.monotonic() >= told + PROGRESS_SECONDS:
                told = time.monotonic()
                given = counts.given()
                lately = recent.add(told, far_bytes(given), moved.files)
                loop.call_soon_threadsafe(partial(self._advance, moved, given, lately, told - began))

        return progress

    def _advance(self, moved: Moved, given: Mapping[SourceKey, Given], recent: Recent, seconds: float) -> None:
        """Progress goes with the next exchange, which comes soon while work is going on."""
        state = _UNDER_WAY[self.desired.want]
        if self.is_going_on and self.seen.state in (state, "failed"):
            done = {"done_bytes": moved.bytes, "done_files": moved.files, "seconds": seconds}
            lately = {"recent_bytes": recent.bytes, "recent_files": recent.files, "recent_seconds": recent.seconds}
            self.seen = self._told(state, **done, **lately, sources=reported(given))

    def _told(self, state: str, **found: Any) -> FillSeen:
        about = {"cached_id": self.desired.cached_id, "attempt": self.desired.attempt, "state": state}
        return FillSeen.model_validate({**about, **found})


def reported(given: Mapping[SourceKey, Given]) -> list[SourceSeen]:
    return [SourceSeen(kind=key.kind, id=key.id, bytes=one.bytes) for key, one in given.items()]
