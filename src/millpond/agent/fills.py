"""Fills, evictions and verifications requested by the server: each runs once and is reported until acknowledged."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, contextmanager
from functools import partial

from millpond.agent.cache_task import Work
from millpond.agent.fill_progress import FillProgress, reported
from millpond.agent.fill_slots import FillSlots
from millpond.agent.keeper.clock import boot_time
from millpond.agent.kept_outputs import KeptOutputs
from millpond.agent.leftovers import Tidying
from millpond.agent.peers.receiving import Peer, PeerFiles
from millpond.agent.peers.serving import Offered
from millpond.agent.rates import AgentRates
from millpond.agent.threads import in_thread
from millpond.agent.volumes import Volumes, sentence
from millpond.errors import DiskFull, MillError, VolumeProblem
from millpond.lake.crew import processes_for
from millpond.lake.nursery import Nursery
from millpond.lake.reader import room_for_pages
from millpond.lake.store_retry import Waiting
from millpond.lake.throttle import Throttle
from millpond.lake.throttled_source import ThrottledSource
from millpond.lake.transfer import Downloader
from millpond.model.address import HostPort
from millpond.model.fill_source import Given, SourceKey, SourceKind
from millpond.model.topology import LAKE
from millpond.retry import Backoff, RetryPolicy, may_pass
from millpond.volumes.attempt import FillAttempt, begin_attempt
from millpond.volumes.bases import BaseTree
from millpond.volumes.disk_space import Needed, NoRoomYet, RoomWatch, check_room
from millpond.volumes.evict import evict
from millpond.volumes.fill import FillCancelled, fill
from millpond.volumes.source_tally import SourceTally
from millpond.volumes.source_watch import SourceWatch
from millpond.volumes.verify import Checked, verify
from millpond.volumes.volume import CacheVolume, CommitPlace
from millpond.wire.desired import DesiredFill, DesiredPeer, DesiredVolume
from millpond.wire.observed import FillSeen, Verified

log = logging.getLogger(__name__)

FILLS_AT_ONCE = 2


# Opens a reader of the commit of a fill, which says when the lake does not answer.
SourceOf = Callable[[DesiredFill, Waiting], AbstractContextManager[Downloader]]


class Fills:
    def __init__(
        self,
        volumes: Volumes,
        source_of: SourceOf,
        kept_outputs: KeptOutputs,
        changed: Callable[[], None],
        rates: AgentRates | None = None,
    ) -> None:
        self._rates = rates or AgentRates()
        self._volumes = volumes
        self._source_of = source_of
        self._kept_outputs = kept_outputs
        self._changed = changed
        self._works: dict[str, Work] = {}
        # Commits are often filled beside the one that was filled before them.
        self._pages = room_for_pages()
        self._nursery = Nursery()
        # Cancelled, but their threads have not all ended: their attempts are not touched until then.
        self._ending: list[Work] = []
        self._slots = FillSlots(FILLS_AT_ONCE)
        # Commits share files: two of a volume are not healed at once, and one slot is left for fills.
        self._checking: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._tidying = Tidying(volumes, self._wanted_attempts, changed)
        self._until = float("-inf")

    def reconcile(self, desired: Sequence[DesiredFill], volumes: Sequence[DesiredVolume], until: float) -> None:
        """`until` is the boot time until which work may be started without contact to the server."""
        self._until = until
        wanted = {one.cached_id: one for one in desired}
        for cached_id in list(self._works):
            now = wanted.get(cached_id)
            if now is None or (now.attempt, now.want) != self._works[cached_id].key:
                self._cancel(self._works.pop(cached_id))
        for cached_id, one in wanted.items():
            if cached_id not in self._works:
                self._works[cached_id] = self._begin(Work(one, self._changed))
            self._works[cached_id].update(one)
        self._slots.look()
        self._ending = [work for work in self._ending if work.is_going_on]
        self._tidying.tend({volume.id for volume in volumes if volume.tended})

    def seen(self) -> list[FillSeen]:
        return [work.seen for work in self._works.values()]

    def under_way(self, volume_id: str, place: CommitPlace) -> Offered | None:
        """The tree of a fill that is being made, and how far it is; None for none. Asked by other threads."""
        for work in list(self._works.values()):
            if work.place == place and work.desired.volume_id == volume_id and work.is_filling:
                return Offered(work.tree, work.seen.done_bytes)
        return None

    def leftover_bytes(self, volume_id: str) -> int:
        """Bytes left there by evicted commits."""
        return self._tidying.leftover_bytes(volume_id)

    @property
    def are_going_on(self) -> bool:
        """True if there is progress worth reporting often."""
        return any(work.is_going_on for work in self._works.values())

    def end(self) -> None:
        for work in self._works.values():
            work.cancel()
        self._tidying.end()
        self._nursery.close()

    # One work

    def _begin(self, work: Work) -> Work:
        carry_out = {
            "present": self._fill,
            "absent": self._evict,
            "verified": self._verify,
            "found": self._take_up,
        }[work.desired.want]
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
        """Retry until done, refused for good or cancelled. One commit of one volume at a time."""
        if before:
            await asyncio.wait(before)
        backoff, costly = Backoff(RetryPolicy(first=1.0, longest=15.0)), Backoff(RetryPolicy(first=5.0, longest=300.0))
        while not work.cancelled.is_set():
            volume = self._volumes.healthy(work.desired.volume_id)
            if volume is not None and await self._try(work, partial(carry_out, work, volume)):
                return
            await work.rest((costly if work.ran_full else backoff).next() if volume else 0.1)

    async def _try(self, work: Work, carry_out: Callable[[], Awaitable[None]]) -> bool:
        """True when there is nothing more to try."""
        try:
            await carry_out()
        except FillCancelled:
            return True
        except MillError as error:
            transient = may_pass(error) or isinstance(error, VolumeProblem)
            work.ran_full = isinstance(error, DiskFull) and not isinstance(error, NoRoomYet)
            log.warning("fill failed: attempt=%d transient=%s %s", work.desired.attempt, transient, error.message)
            work.tell("failed", problem=sentence(error), transient=transient)
            return not transient
        except Exception:
            log.exception("fill failed: attempt=%d", work.desired.attempt)
            work.tell("failed", problem="Unexpected error of the agent. See the agent's log.")
        return True

    async def _fill(self, work: Work, volume: CacheVolume) -> None:
        wanted = work.desired
        async with self._slots.take(lambda: work.goes_first):
            started = time.monotonic()
            if processes_for(wanted.files):
                self._nursery.warm()
            attempt = await self._begin_attempt(work, volume)
            work.tree = attempt.tree
            needed = Needed(wanted.needed_bytes, wanted.needed_inodes, wanted.reserve_bytes, wanted.reserve_inodes)
            await self._check_room(attempt, needed)
            tally = work.begin_try()
            progress = FillProgress(work.cancelled, tally)
            async with AsyncExitStack() as stack:
                await stack.enter_async_context(work.telling(progress))
                source = stack.enter_context(self._opened(work, wanted, progress.waits))
                # What the volume itself has is linked, and takes no room: that goes before copies from elsewhere.
                bases = [*self._bases(work, volume, stack, progress.waits), *self._copies(work, source)]
                await self._volumes.set_apart(volume.id, wanted.project_id)
                made_here = await in_thread(partial(self._kept_outputs.find, wanted.project))
                way = self._throttle(work, wanted.source_site)
                peer = stack.enter_context(_peer(wanted, wanted.peer, tally, way)) if wanted.peer else None
                beside = partial(fill, bases=bases, made_here=made_here, peer=peer, tally=tally)
                make = partial(
                    beside,
                    progress=RoomWatch(attempt, needed, progress),
                    kept=self._pages,
                    nursery=self._nursery,
                    throttle=self._throttle(work, LAKE),
                )
                filled = await in_thread(partial(make, attempt, wanted.tree, source))
        await self._volumes.look(volume.id)
        log.info("filled: volume=%s commit=%s %s", volume.id, wanted.commit_id, _written(filled.given))
        work.tell(
            "ready",
            done_bytes=wanted.bytes,
            done_files=wanted.files,
            sources=reported(filled.given),
            followed=peer is not None and peer.has_waited,
            seconds=time.monotonic() - started,
        )

    async def _evict(self, work: Work, volume: CacheVolume) -> None:
        async with self._tidying.removing[volume.id]:
            attempt = await self._begin_attempt(work, volume)
            await in_thread(partial(evict, attempt))
            await self._tidying.count_leftovers(volume)
        await self._volumes.look(volume.id)
        log.info("evicted: volume=%s commit=%s", volume.id, work.place.commit_id)
        work.tell("evicted")

    async def _verify(self, work: Work, volume: CacheVolume) -> None:
        found = await self._checked(work, volume, contents=True)
        log.info("verified: volume=%s commit=%s healed=%d", volume.id, work.place.commit_id, found.healed)
        work.tell("verified", verified=_verified(found))

    async def _take_up(self, work: Work, volume: CacheVolume) -> None:
        """Adopt a published commit that the server did not know; it may be gone again."""
        if not await in_thread(volume.commit(work.place).is_dir):
            work.tell("evicted")
            return
        found = await self._checked(work, volume, contents=False)
        log.info("adopted: volume=%s commit=%s healed=%d", volume.id, work.place.commit_id, found.healed)
        work.tell("ready", done_bytes=work.desired.bytes, done_files=work.desired.files)

    async def _checked(self, work: Work, volume: CacheVolume, *, contents: bool) -> Checked:
        wanted = work.desired
        async with self._checking[volume.id], self._slots.take(lambda: False):
            attempt = await self._begin_attempt(work, volume)
            others = [place for place in await in_thread(volume.published) if place.project_id == wanted.project_id]
            progress = FillProgress(work.cancelled)
            async with work.telling(progress):
                with self._opened(work, wanted, progress.waits) as source:
                    check = partial(verify, attempt, wanted.tree, source, others, contents=contents, progress=progress)
                    return await in_thread(check)

    @contextmanager
    def _opened(self, work: Work, wanted: DesiredFill, waits: Waiting) -> Iterator[Downloader]:
        """A reader of the lake that keeps to the limits. `waits` is told when it does not answer."""
        with self._source_of(wanted, waits) as source:
            yield ThrottledSource(source, self._throttle(work, LAKE))

    def _throttle(self, work: Work, end_id: str) -> Throttle:
        """What the bytes of a fill pass on their way from the lake, or from a site."""
        return self._rates.throttle(end_id, work.pause, [work.low, self._rates.of_volume(work.desired.volume_id)])

    def _bases(self, work: Work, volume: CacheVolume, stack: AsyncExitStack, waits: Waiting) -> Iterator[BaseTree]:
        """Published commits of the volume from which files can be linked."""
        wanted = work.desired
        for base in wanted.bases:
            named = {"dataset": base.dataset, "dataset_id": base.dataset_id, "commit_id": base.commit_id}
            about = wanted.model_copy(update={**named, "tree": base.tree})
            pages = stack.enter_context(self._opened(work, about, waits))
            place = CommitPlace(wanted.project_id, base.dataset_id, base.commit_id)
            yield BaseTree(volume.commit(place), base.tree, pages)

    def _copies(self, work: Work, pages: Downloader) -> Iterator[BaseTree]:
        """The same commit on the volume of another site that the server names."""
        wanted = work.desired
        elsewhere = self._volumes.healthy(wanted.source) if wanted.source and wanted.peer is None else None
        if elsewhere is not None:
            place = CommitPlace(wanted.project_id, wanted.dataset_id, wanted.commit_id)
            source = SourceKey(SourceKind.MOUNT, elsewhere.id)
            watch = _watch(wanted, str(elsewhere.root), self._throttle(work, wanted.source_site))
            yield BaseTree(elsewhere.commit(place), wanted.tree, pages, source, watch)

    async def _begin_attempt(self, work: Work, volume: CacheVolume) -> FillAttempt:
        """Raises FillCancelled without contact to the server for so long that another agent may be at work.

        Asked after the attempt's directory is there: a process that was stopped before that notices it here, and one
        that is stopped later finds its directory moved away.
        """
        async with self._tidying.beginning[volume.id]:
            attempt = await in_thread(partial(begin_attempt, volume, work.place, work.desired.attempt))
        if work.cancelled.is_set() or boot_time() > self._until:
            await in_thread(attempt.remove)
            if not work.cancelled.is_set():
                raise MillError("No contact to the server.")
            raise FillCancelled
        return attempt

    async def _check_room(self, attempt: FillAttempt, needed: Needed) -> None:
        try:
            await in_thread(partial(check_room, attempt, needed))
        except MillError:
            await in_thread(attempt.remove)
            raise

    def _wanted_attempts(self) -> set[int]:
        works = [*self._works.values(), *(work for work in self._ending if work.is_going_on)]
        return {work.desired.attempt for work in works}


def _peer(wanted: DesiredFill, named: DesiredPeer, tally: SourceTally, throttle: Throttle) -> PeerFiles:
    address = HostPort.parse(named.address)
    peer = Peer(address, named.fingerprint, named.token, volume=wanted.source or "")
    return PeerFiles(peer, tally, _watch(wanted, named.address, throttle))


def _watch(wanted: DesiredFill, name: str, throttle: Throttle) -> SourceWatch:
    expected, lake = wanted.source_bytes_per_second, wanted.lake_bytes_per_second
    return SourceWatch(expected, lake, total=wanted.bytes, name=name, throttle=throttle)


def _written(given: Mapping[SourceKey, Given]) -> str:
    return " ".join(f"{key.kind.value}{f':{key.id}' if key.id else ''}={one.bytes}" for key, one in given.items())


def _verified(found: Checked) -> Verified:
    return Verified(
        checked_files=found.files,
        checked_bytes=found.bytes,
        damaged_files=found.damaged,
        missing_files=found.missing,
        extra_files=found.extra,
        healed_files=found.healed,
        fetched_bytes=found.fetched_bytes,
        examples=list(found.examples),
    )
