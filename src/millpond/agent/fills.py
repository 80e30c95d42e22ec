"""Fills and evictions the server asks for: each carried out once, in a thread, and told until it stops asking."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, suppress
from functools import partial
from typing import Literal

from millpond.agent.backoff import Backoff, may_pass
from millpond.agent.threads import in_thread
from millpond.agent.volumes import Volumes, sentence
from millpond.cache.evict import empty_trash, evict, set_aside_attempts
from millpond.cache.fill import FillCancelled, FillOrder, begin_attempt, fill
from millpond.cache.volume import CacheVolume, CommitPlace
from millpond.errors import MillError, VolumeProblem
from millpond.lake.transfer import Downloader, Moved
from millpond.wire.agent import DesiredFill, DesiredVolume, FillSeen

log = logging.getLogger(__name__)

FILLS_AT_ONCE = 2
PROGRESS_SECONDS = 0.5
# What cannot be removed yet is tried again after so long.
TRASH_SECONDS = 30.0


class Work:
    """One wish of the server, being carried out."""

    def __init__(self, desired: DesiredFill) -> None:
        self.desired = desired
        self.cancelled = threading.Event()
        self._woken = asyncio.Event()
        self.task: asyncio.Task[None] | None = None
        self.seen = FillSeen(cached_id=desired.cached_id, attempt=desired.attempt, state="filling")

    @property
    def key(self) -> tuple[int, str]:
        return self.desired.attempt, self.desired.want

    @property
    def place(self) -> CommitPlace:
        wanted = self.desired
        return CommitPlace(wanted.project_id, wanted.dataset_id, wanted.commit_id)

    def cancel(self) -> None:
        self.cancelled.set()
        self._woken.set()

    async def rest(self, seconds: float) -> None:
        """Wait, but no longer than it is wanted."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._woken.wait(), seconds)

    @property
    def is_going_on(self) -> bool:
        return self.task is not None and not self.task.done()


class Fills:
    def __init__(
        self,
        volumes: Volumes,
        source_of: Callable[[DesiredFill], AbstractContextManager[Downloader]],
        changed: Callable[[], None],
    ) -> None:
        self._volumes = volumes
        self._source_of = source_of
        self._changed = changed
        self._works: dict[str, Work] = {}
        # Cancelled, but their threads have not all ended: their attempts are not touched until then.
        self._ending: list[Work] = []
        self._slots = asyncio.Semaphore(FILLS_AT_ONCE)
        # Attempts of one volume are begun and set aside in turns; evictions and the trash likewise.
        self._beginning: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._tidying: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._tidiers: dict[str, asyncio.Task[None]] = {}

    def reconcile(self, desired: Sequence[DesiredFill], volumes: Sequence[DesiredVolume]) -> None:
        wanted = {one.cached_id: one for one in desired}
        for cached_id in list(self._works):
            now = wanted.get(cached_id)
            if now is None or (now.attempt, now.want) != self._works[cached_id].key:
                self._cancel(self._works.pop(cached_id))
        for cached_id, one in wanted.items():
            if cached_id not in self._works:
                self._works[cached_id] = self._begin(Work(one))
        self._tend({volume.id for volume in volumes if volume.tended})

    def seen(self) -> list[FillSeen]:
        return [work.seen for work in self._works.values()]

    @property
    def are_going_on(self) -> bool:
        """Whether progress is being made that is worth telling often."""
        return any(work.is_going_on for work in self._works.values())

    def end(self) -> None:
        for work in self._works.values():
            work.cancel()
        for task in self._tidiers.values():
            task.cancel()

    # One work

    def _begin(self, work: Work) -> Work:
        carry_out = self._fill if work.desired.want == "present" else self._evict
        before = [other.task for other in self._ending if other.place == work.place and other.task]
        work.task = asyncio.create_task(self._carry_out(work, carry_out, before), name=f"fill {work.desired.attempt}")
        return work

    def _cancel(self, work: Work) -> None:
        work.cancel()
        if work.is_going_on:
            self._ending.append(work)

    async def _carry_out(
        self,
        work: Work,
        carry_out: Callable[[Work, CacheVolume], Awaitable[None]],
        before: Sequence[asyncio.Task[None]],
    ) -> None:
        """Try until it is done, refused for good or no longer wanted. One commit of one volume at a time."""
        if before:
            await asyncio.wait(before)
        backoff = Backoff(first=1.0, longest=15.0)
        while not work.cancelled.is_set():
            volume = self._volumes.healthy(work.desired.volume_id)
            if volume is not None and await self._try(work, partial(carry_out, work, volume)):
                return
            await work.rest(backoff.next() if volume else 0.1)

    async def _try(self, work: Work, carry_out: Callable[[], Awaitable[None]]) -> bool:
        """True when there is nothing more to try."""
        try:
            await carry_out()
        except FillCancelled:
            return True
        except MillError as error:
            transient = may_pass(error) or isinstance(error, VolumeProblem)
            log.warning("fill failed: attempt=%d transient=%s %s", work.desired.attempt, transient, error.message)
            self._tell(work, "failed", problem=sentence(error), transient=transient)
            return not transient
        except Exception:
            log.exception("fill failed: attempt=%d", work.desired.attempt)
            self._tell(work, "failed", problem="The agent met an error it does not know; its log tells more.")
        return True

    async def _fill(self, work: Work, volume: CacheVolume) -> None:
        order = FillOrder(place=work.place, attempt=work.desired.attempt, tree=work.desired.tree)
        async with self._slots:
            async with self._beginning[volume.id]:
                await in_thread(partial(begin_attempt, volume, order.attempt))
            progress = self._progress_of(work, asyncio.get_running_loop())
            with self._source_of(work.desired) as source:
                await in_thread(partial(fill, volume, order, source, progress=progress))
        await self._volumes.look(volume.id)
        log.info("filled: volume=%s commit=%s", volume.id, order.place.commit_id)
        self._tell(work, "ready", done_bytes=work.desired.bytes, done_files=work.desired.files)

    async def _evict(self, work: Work, volume: CacheVolume) -> None:
        async with self._tidying[volume.id]:
            await in_thread(partial(evict, volume, work.place, attempt=work.desired.attempt))
        await self._volumes.look(volume.id)
        log.info("evicted: volume=%s commit=%s", volume.id, work.place.commit_id)
        self._tell(work, "evicted")

    def _progress_of(self, work: Work, loop: asyncio.AbstractEventLoop) -> Callable[[Moved], None]:
        told = time.monotonic()

        def progress(moved: Moved) -> None:
            nonlocal told
            if work.cancelled.is_set():
                raise FillCancelled
            if time.monotonic() >= told + PROGRESS_SECONDS:
                told = time.monotonic()
                loop.call_soon_threadsafe(partial(_advance, work, moved))

        return progress

    def _tell(
        self,
        work: Work,
        state: Literal["filling", "ready", "evicted", "failed"],
        *,
        done_bytes: int = 0,
        done_files: int = 0,
        problem: str | None = None,
        transient: bool = False,
    ) -> None:
        work.seen = FillSeen(
            cached_id=work.desired.cached_id,
            attempt=work.desired.attempt,
            state=state,
            done_bytes=done_bytes,
            done_files=done_files,
            problem=problem,
            transient=transient,
        )
        self._changed()

    # What earlier attempts left behind

    def _tend(self, tended: set[str]) -> None:
        """One tidier per volume this agent tends; woken by every change of what is wanted."""
        self._ending = [work for work in self._ending if work.is_going_on]
        for gone in self._tidiers.keys() - tended:
            self._tidiers.pop(gone).cancel()
        for volume_id in tended:
            task = self._tidiers.get(volume_id)
            if task is None or task.done():
                self._tidiers[volume_id] = asyncio.create_task(self._tidy(volume_id), name=f"tidy {volume_id}")

    async def _tidy(self, volume_id: str) -> None:
        """Until nothing is left of attempts nobody wants; ends then, and begins again when something changes."""
        while True:
            volume = self._volumes.healthy(volume_id)
            try:
                if volume is not None and await self._tidy_once(volume):
                    return
            except MillError as error:
                log.warning("tidying failed: volume=%s %s", volume_id, error.message)
            await asyncio.sleep(TRASH_SECONDS if volume else 0.1)

    async def _tidy_once(self, volume: CacheVolume) -> bool:
        async with self._beginning[volume.id]:
            works = [*self._works.values(), *(work for work in self._ending if work.is_going_on)]
            wanted = {work.desired.attempt for work in works if work.desired.want == "present"}
            await in_thread(partial(set_aside_attempts, volume, wanted=wanted))
        async with self._tidying[volume.id]:
            return await in_thread(partial(empty_trash, volume))


def _advance(work: Work, moved: Moved) -> None:
    """Progress is told with the next exchange, which comes soon while something is filled; it needs no waking."""
    if work.is_going_on and work.seen.state != "ready":
        work.seen = FillSeen(
            cached_id=work.desired.cached_id,
            attempt=work.desired.attempt,
            state="filling",
            done_bytes=moved.bytes,
            done_files=moved.files,
        )
