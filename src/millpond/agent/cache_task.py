"""One task of the server for a cached commit: its execution and what to report."""

from __future__ import annotations

import asyncio
import secrets
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from millpond.agent.fill_progress import FillProgress, reported
from millpond.lake.throttle import TokenBucket
from millpond.volumes.fill import FillCancelled
from millpond.volumes.source_tally import SourceTally
from millpond.volumes.volume import CommitPlace
from millpond.wire.desired import DesiredFill
from millpond.wire.observed import FillSeen

PROGRESS_SECONDS = 0.5
_UNDER_WAY = {"present": "filling", "absent": "filling", "found": "filling", "verified": "verifying"}


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
        self._session, self._tally = "", SourceTally()
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

    def begin_try(self) -> SourceTally:
        """What counts what each source gives from now on."""
        self._session, self._tally = secrets.token_hex(8), SourceTally()
        return self._tally

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

    @asynccontextmanager
    async def telling(self, progress: FillProgress) -> AsyncIterator[None]:
        """Meanwhile, keep what is reported up to date with the progress."""
        ticks = asyncio.create_task(self._tell_again(progress), name="progress")
        try:
            yield
        finally:
            ticks.cancel()

    async def _tell_again(self, progress: FillProgress) -> None:
        """Progress goes with the next exchange, which comes soon while work is going on; what it waits for, at once."""
        state = _UNDER_WAY[self.desired.want]
        while True:
            await asyncio.sleep(PROGRESS_SECONDS)
            found = progress.look()
            if found is not None and self.seen.state in (state, "failed"):
                before = self.seen.problem
                found["done_bytes"] = min(found["done_bytes"], self.desired.bytes)
                self.seen = self._told(state, **found)
                if self.seen.problem not in (None, before):
                    self._changed()

    def _told(self, state: str, **found: Any) -> FillSeen:
        about = {"cached_id": self.desired.cached_id, "attempt": self.desired.attempt, "state": state}
        counted = {"session": self._session, "sources": reported(self._tally.given())}
        return FillSeen.model_validate({**about, **counted, **found})
