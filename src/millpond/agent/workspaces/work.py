"""One workspace: what is done for it, step by step, until it is as the server wants it, and what there is to tell."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeVar

from millpond.agent.drivers import EngineAway
from millpond.agent.threads import in_thread
from millpond.agent.volumes import sentence
from millpond.agent.workspaces.disk import Disk, KeepSnapshot
from millpond.errors import DiskFull, MillError, VolumeProblem
from millpond.retry import Backoff, RetryPolicy, may_pass
from millpond.volumes.workspaces.layout import SnapshotDocument, WorkspaceDocument
from millpond.volumes.workspaces.space import WorkspaceSpace
from millpond.volumes.workspaces.tree_process import Done
from millpond.wire.workspaces import DesiredSnapshot, DesiredWorkspace, SnapshotSeen, WorkspaceSeen

log = logging.getLogger(__name__)

T = TypeVar("T")

# How often something in use is measured, and how many times as long as it took nobody measures again.
MEASURE_SECONDS = 10.0
_RESTS = 9
# On a claim that takes a pod.
CLAIM_SECONDS = 300.0


class WorkspaceCancelled(MillError):
    """What was being done is no longer wanted."""


class WorkspaceWork:
    """Brings one workspace to `desired`, one step at a time; keeping and measuring go on beside that.

    `disk` opens it on its volume, None while that is not well. `changed` is called when there is news.
    """

    def __init__(
        self,
        desired: DesiredWorkspace,
        disk: Callable[[WorkspaceWork], Disk | None],
        keep: KeepSnapshot,
        layering: asyncio.Lock,
        changed: Callable[[], None],
    ) -> None:
        self.desired = desired
        self.cancelled = threading.Event()
        self._open, self._keep, self._layering, self._changed = disk, keep, layering, changed
        self._woken = asyncio.Event()
        self._document: WorkspaceDocument | None = None
        self._space: WorkspaceSpace | None = None
        self._measured_at: datetime | None = None
        self._quota = "measured"
        self._done = Done()
        self._seconds = 0.0
        self._state, self._transient = "working", False
        self._problem: str | None = None
        self._restore_problem: str | None = None
        self._snapshots: dict[int, SnapshotSeen] = {}
        # What was refused for good, by the attempt that was.
        self._refused: set[tuple[str, int]] = set()
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._start("steps", self._go_on)

    # What the agent says and asks

    def want(self, desired: DesiredWorkspace) -> None:
        if desired.want == "absent" != self.desired.want:
            self.cancelled.set()  # whatever is being made for it
        self.desired = desired
        self._woken.set()
        self._start("steps", self._go_on)

    def seen(self) -> WorkspaceSeen:
        found = self._document
        listed = {one.number for one in self.desired.snapshots}
        about: dict[str, Any] = {
            "id": self.desired.id,
            "attempt": self.desired.attempt,
            "state": self._state,
            "problem": self._problem,
            "transient": self._transient,
            "done_files": self._done.files,
            "done_bytes": self._done.size,
            "seconds": self._seconds,
            "restore_problem": self._restore_problem,
            "snapshots": [seen for number, seen in sorted(self._snapshots.items()) if number in listed],
        }
        if found is not None:
            about |= {"how": found.how, "reason": found.reason, "consistency": found.consistency}
            about |= {"files": found.files, "restored": found.restored}
            is_kept = found.claim or (found.is_subvolume and found.size_bytes)
            about["quota"] = self._quota if is_kept else "measured"
        if self._space is not None:
            about |= {"unique_bytes": self._space.unique_bytes, "shared_bytes": self._space.shared_bytes}
            about |= {"files": self._space.files, "measured_at": self._measured_at}
        return WorkspaceSeen.model_validate(about)

    @property
    def is_going_on(self) -> bool:
        return any(not task.done() for name, task in self._tasks.items() if name != "measure")

    @property
    def is_over(self) -> bool:
        return all(task.done() for task in self._tasks.values())

    def end(self) -> None:
        """No longer listed, or the agent ends: what is being made is given up."""
        self.cancelled.set()
        self._woken.set()
        for name in ("measure", "keep"):
            if name in self._tasks:
                self._tasks[name].cancel()

    def progress(self, done: Done) -> None:
        """Told by working threads."""
        self._done = done
        if self.cancelled.is_set():
            raise WorkspaceCancelled("The workspace is no longer wanted.")

    # Steps

    def _start(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        task = self._tasks.get(name)
        if task is None or task.done():
            self._tasks[name] = asyncio.ensure_future(_caught(work(), f"workspace {self.desired.id}"))

    async def _go_on(self) -> None:
        backoff = Backoff(RetryPolicy(first=1.0, longest=15.0))
        while not (self.cancelled.is_set() and self.desired.want == "present"):
            self._woken.clear()
            disk = self._open(self)
            if disk is None:
                await self._rest(0.1)
                continue
            try:
                if not await self._step(disk):
                    return
                backoff.reset()
            except _StepFailed as failure:
                if failure.transient:
                    await self._rest(backoff.next())

    async def _step(self, disk: Disk) -> bool:
        """Do the next thing that is to be done; False when there is none."""
        wanted, self._quota = self.desired, disk.quota
        if wanted.want == "absent":
            return await self._remove(disk)
        if self._document is None:
            return await self._try("create", wanted.attempt, partial(self._create, disk), self._tell_workspace)
        if self._state != "ready":
            return await self._try("mount", wanted.attempt, partial(self._make_ready, disk), self._tell_workspace)
        if wanted.size_bytes != self._document.size_bytes:
            resize = partial(self._resize, disk, wanted.size_bytes)
            if await self._try(f"resize to {wanted.size_bytes}", wanted.attempt, resize, self._tell_resize):
                return True
        # Before a restore there is a snapshot of what it replaces.
        for snapshot in wanted.snapshots:
            work = self._snapshot_work(disk, snapshot)
            what = f"snapshot {snapshot.number}"
            if work is not None and (what, snapshot.attempt) not in self._refused:
                return await self._try(what, snapshot.attempt, work, partial(self._tell_snapshot, snapshot, "failed"))
        restore = wanted.restore
        if restore is not None and self._document.restored != restore.attempt:
            return await self._try("restore", restore.attempt, partial(self._restore, disk), self._tell_restore)
        if any(one.want == "kept" and self._of(one) == "near" for one in wanted.snapshots):
            self._start("keep", self._keep_all)
        if wanted.measure or wanted.in_use:
            self._start("measure", self._measure)
        return False

    async def _try(
        self, what: str, attempt: int, work: Callable[[], Awaitable[None]], tell: Callable[..., None]
    ) -> bool:
        """Do something that may be refused; False when this attempt at it was refused for good before."""
        if (what, attempt) in self._refused:
            return False
        try:
            await work()
        except WorkspaceCancelled:
            return False
        except (MillError, OSError) as error:
            transient = isinstance(error, VolumeProblem | DiskFull | EngineAway) or (
                isinstance(error, MillError) and may_pass(error)
            )
            log.warning("workspace %s: %s failed: attempt=%d %s", self.desired.id, what, attempt, sentence(error))
            if not transient:
                self._refused.add((what, attempt))
            tell(problem=sentence(error), transient=transient)
            raise _StepFailed(transient) from error
        return True

    async def _create(self, disk: Disk) -> None:
        """Make it, unless it is there."""
        if (found := await in_thread(disk.look)) is not None:
            self._document = found
            return
        async with self._layering:
            made, self._seconds = await in_thread(partial(disk.create, self.desired))
        self._document = made
        log.info("workspace made: id=%s how=%s seconds=%.2f", self.desired.id, made.how, self._seconds)
        self._tell_ready()

    async def _make_ready(self, disk: Disk) -> None:
        assert self._document is not None
        await in_thread(partial(disk.mount, self._document))
        self._tell_ready()

    async def _resize(self, disk: Disk, size_bytes: int) -> None:
        assert self._document is not None
        self._document = await in_thread(partial(disk.set_size, self._document, size_bytes))
        self._problem = None

    async def _restore(self, disk: Disk) -> None:
        self._document = await in_thread(partial(disk.restore, self.desired))
        self._restore_problem = None
        self._changed()

    async def _remove(self, disk: Disk) -> bool:
        """Wait for what is under way, then take it away."""
        if self._state == "absent":
            return False
        for name in ("keep", "measure"):
            if name in self._tasks:
                self._tasks[name].cancel()
                with suppress(asyncio.CancelledError):
                    await self._tasks[name]
        return await self._try("remove", self.desired.attempt, partial(self._take_away, disk), self._tell_workspace)

    async def _take_away(self, disk: Disk) -> None:
        async with self._layering:
            aside = await in_thread(disk.set_aside)
        if not await in_thread(partial(disk.remove, aside)):
            raise VolumeProblem("Some files of the workspace cannot be removed yet.")
        self._document, self._state, self._problem = None, "absent", None
        self._changed()

    # Snapshots

    def _of(self, wanted: DesiredSnapshot) -> str:
        seen = self._snapshots.get(wanted.number)
        return seen.state if seen is not None and seen.attempt == wanted.attempt else ""

    def _snapshot_work(self, disk: Disk, wanted: DesiredSnapshot) -> Callable[[], Awaitable[None]] | None:
        """What is to be done for a snapshot now; keeping it goes on beside."""
        if wanted.want == "absent":
            return None if self._of(wanted) == "absent" else partial(self._forget_snapshot, disk, wanted)
        is_there = self._of(wanted) in ("near", "keeping", "kept")
        return None if is_there else partial(self._take, disk, wanted)

    async def _take(self, disk: Disk, wanted: DesiredSnapshot) -> None:
        self._snapshots.setdefault(wanted.number, self._snapshot_seen(wanted, "taking"))
        taken = await in_thread(partial(disk.snapshot, wanted))
        self._tell_taken(wanted, taken)

    async def _forget_snapshot(self, disk: Disk, wanted: DesiredSnapshot) -> None:
        async with self._layering:
            await in_thread(partial(disk.remove_snapshot, wanted.number))
        self._tell_snapshot(wanted, "absent")

    async def _keep_all(self) -> None:
        """Commit snapshots one after the other, in the order of their numbers."""
        backoff = Backoff(RetryPolicy(first=1.0, longest=60.0))
        while wanted := next((one for one in sorted_by_number(self.desired) if self._is_to_keep(one)), None):
            disk = self._open(self)
            if disk is None:
                await asyncio.sleep(0.5)
                continue
            self._update(wanted, state="keeping", problem=None)
            try:
                kept = await in_thread(partial(disk.keep, self.desired, wanted, self._keep))
            except (MillError, OSError) as error:
                transient = isinstance(error, EngineAway) or (isinstance(error, MillError) and may_pass(error))
                log.warning("keeping failed: workspace=%s snapshot=%d %s", self.desired.id, wanted.number, error)
                if not transient:
                    self._refused.add((f"keep {wanted.number}", wanted.attempt))
                # It stays near, whatever becomes of the other copy.
                self._update(wanted, state="near", problem=sentence(error), transient=transient)
                await asyncio.sleep(backoff.next() if transient else 0)
                continue
            backoff.reset()
            about = {"files": kept.files, "bytes": kept.bytes, "commit": kept.kept_commit}
            self._update(wanted, state="kept", **about, problem=None, transient=False)

    def _is_to_keep(self, wanted: DesiredSnapshot) -> bool:
        is_refused = (f"keep {wanted.number}", wanted.attempt) in self._refused
        return wanted.want == "kept" and self._of(wanted) in ("near", "keeping") and not is_refused

    async def _measure(self) -> None:
        """Once if it was asked for; again and again while jobs have it, but not most of the time."""
        while self.desired.measure or self.desired.in_use:
            disk = self._open(self)
            if disk is None:
                return
            began = asyncio.get_running_loop().time()
            try:
                found = await in_thread(disk.measure)
            except (MillError, OSError) as error:
                log.warning("cannot measure workspace %s: %s", self.desired.id, error)
                return
            if found is not None:
                self._space, self._measured_at = found, datetime.now(UTC)
            for one in self.desired.snapshots:
                if self._of(one) in ("near", "kept"):
                    size = await in_thread(partial(disk.measure_snapshot, one.number))
                    self._update(one, unique_bytes=size)
            self._changed()
            if not self.desired.in_use:
                return
            took = asyncio.get_running_loop().time() - began
            pause = max(CLAIM_SECONDS if self.desired.storage_class else MEASURE_SECONDS, _RESTS * took)
            ends = asyncio.get_running_loop().time() + pause
            # What the last job has left is measured once it has ended.
            while self.desired.in_use and asyncio.get_running_loop().time() < ends:
                await asyncio.sleep(min(1.0, pause))

    # What is told

    def _tell_ready(self) -> None:
        self._state, self._problem, self._transient = "ready", None, False
        self._changed()

    def waits(self, why: str) -> None:
        """Told by working threads: what takes long is explained."""
        if self._state == "working":
            self._problem, self._transient = why, True
        elif self.desired.restore is not None:
            self._restore_problem = why

    def _tell_workspace(self, *, problem: str, transient: bool) -> None:
        self._state, self._problem, self._transient = "failed", problem, transient
        self._changed()

    def _tell_resize(self, *, problem: str, transient: bool) -> None:
        """It stays as usable as it was."""
        self._problem = problem
        self._changed()

    def _tell_restore(self, *, problem: str, transient: bool) -> None:
        self._restore_problem = problem
        self._changed()

    def _tell_taken(self, wanted: DesiredSnapshot, taken: SnapshotDocument) -> None:
        is_kept = taken.kept_commit is not None
        at = datetime.fromtimestamp(taken.at, UTC)
        self._tell_snapshot(
            wanted,
            "kept" if is_kept else "near",
            consistency=taken.consistency,
            at=at,
            files=taken.files,
            bytes=taken.bytes,
            commit=taken.kept_commit,
            near=taken.is_near,
        )

    def _tell_snapshot(self, wanted: DesiredSnapshot, state: str, **found: Any) -> None:
        self._snapshots[wanted.number] = self._snapshot_seen(wanted, state, **found)
        self._changed()

    def _update(self, wanted: DesiredSnapshot, **found: Any) -> None:
        seen = self._snapshots.get(wanted.number) or self._snapshot_seen(wanted, "near")
        self._snapshots[wanted.number] = seen.model_copy(update=found)
        self._changed()

    def _snapshot_seen(self, wanted: DesiredSnapshot, state: str, **found: Any) -> SnapshotSeen:
        about = {"number": wanted.number, "attempt": wanted.attempt, "state": state}
        return SnapshotSeen.model_validate({**about, **found})

    async def _rest(self, seconds: float) -> None:
        """Wait, at most until there is something new to do."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._woken.wait(), seconds)


class _StepFailed(Exception):
    def __init__(self, transient: bool) -> None:
        super().__init__()
        self.transient = transient


def sorted_by_number(desired: DesiredWorkspace) -> list[DesiredSnapshot]:
    return sorted(desired.snapshots, key=lambda one: one.number)


async def _caught(work: Awaitable[T], what: str) -> None:
    try:
        await work
    except Exception:
        log.exception("unexpected error: %s", what)
