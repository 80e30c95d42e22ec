"""Applies the decisions about a volume's space: beginning fills, marking evictions. Inside the caller's transaction.

Every function here expects the volume to be locked (`db.volumes.lock`), so that bytes are never promised twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from millpond.db import caches, collecting, evictions, volumes
from millpond.db.caches import CachedView, CommitSize
from millpond.db.differences import Difference
from millpond.db.leases import Sees
from millpond.decide.admission import Admit, Asked, Refuse, admit, fills_to_start, usable_room
from millpond.decide.allocation import BLOCK, Allocating, Counted, room_of_tree
from millpond.decide.eviction import Evict
from millpond.decide.stock import Room, Stock, linking
from millpond.errors import DoesNotFit, NotReady, VolumeProblem
from millpond.model.cached_state import CachedState
from millpond.model.ids import new_id
from millpond.model.quantity import format_bytes
from millpond.model.volume import CachedCommit, Volume
from millpond.services.caches.admission.differences import best_base
from millpond.services.caches.admission.stock import everything, space_of, stock_of
from millpond.services.computes import trust
from millpond.services.egress import budgets
from millpond.services.quotas import checks
from millpond.services.workspaces.starting import start_waiting


@dataclass(frozen=True, slots=True)
class Begun:
    """`started` is False when the commit was there or on its way already."""

    cached: CachedView
    started: bool
    reasons: tuple[str, ...]
    evicting: tuple[CachedView, ...] = ()


@dataclass(frozen=True, slots=True)
class Need:
    """What a commit takes on a volume: as a whole, or beside a base whose unchanged files it links."""

    room: Room
    fetch_bytes: int
    fetch_files: int
    base_id: str | None = None
    base: str | None = None  # its commit

    @property
    def reasons(self) -> tuple[str, ...]:
        if self.base is None:
            return ()
        return (f"{format_bytes(self.fetch_bytes)} must be fetched, the rest is cached there with {self.base[:8]}",)


@dataclass(frozen=True, slots=True)
class Answer:
    """What admission says of a commit on a volume now, and what it would take there."""

    need: Need
    decision: Admit | Refuse


def begin_fill(
    tx: Connection,
    volume: Volume,
    size: CommitSize,
    *,
    requested_by: str,
    now: datetime,
    sees: Sees = everything,
    idle_seconds: int | None = None,
    ahead: bool = False,
) -> Begun:
    """The one row of this commit on this volume, begun if it was absent or had failed.

    `ahead`: nobody waits for it yet, so fills that are waited for go first.
    VolumeProblem while the volume is unwell, DoesNotFit when admission refuses (`details["blockers"]` say what
    stands in the way, as far as the one who asks `sees` it), OverBudget when it may cost no more, NotReady while the
    commit is on its way out.
    """
    if size.is_set_aside:
        collecting.set_aside(tx, [size.commit_id], None)  # asked for anew, it is named anew
    found = caches.find(tx, volume.id, size.commit_id)
    if found and found.cached.state in (CachedState.READY, CachedState.FILLING):
        caches.touch(tx, [found.cached.id], now)
        if found.cached.prefetch and not ahead:
            caches.change(tx, found.cached.id, prefetch=False)
        what = "is already cached on" if found.cached.state is CachedState.READY else "is already being cached on"
        return Begun(found, False, (f"{size.written} {what} {volume.name}",))
    if found and found.cached.state is CachedState.EVICTING:
        raise NotReady(f"{size.written} is being evicted from {volume.name}.", hint="Try again in a moment.")
    check_usable(volume)
    trust.check_volume(tx, volume, size.project_id, size.project)
    budgets.check(tx, volume, size, now)
    answer = would_admit(tx, volume, size, now, sees=sees)
    if isinstance(answer.decision, Refuse):
        raise _does_not_fit(volume, size, answer.need, answer.decision)
    checks.check_cached(tx, now, size.project_id, size.project, answer.need.room.bytes)
    evicting = mark_evictions(tx, volume, answer.decision.evict)
    reasons = (*answer.decision.reasons, *answer.need.reasons)
    row = _row(volume, size, answer.need, requested_by, now, "; ".join(reasons), idle_seconds, ahead)
    _put(tx, row, found)
    evictions.forget_refusal(tx, volume.id, size.commit_id)
    start_fills(tx, volume, now)
    begun = caches.find(tx, volume.id, size.commit_id)
    assert begun is not None  # written just above, in this transaction
    return Begun(begun, True, reasons, evicting)


def would_admit(tx: Connection, volume: Volume, size: CommitSize, now: datetime, *, sees: Sees = everything) -> Answer:
    """What admission says now; changes nothing. Rather beside a base; as a whole where only the base's room is left."""
    stock = stock_of(tx, volume.id, now, sees=sees)
    found = caches.find(tx, volume.id, size.commit_id)
    stock = stock.without(found.cached.id if found else None)
    needs = [
        *_beside_base(tx, volume, size),
        Need(_room_of(volume, size, size.directory_bytes), size.bytes, size.files),
    ]
    answers = [Answer(need, _admit(volume, stock, size, need)) for need in needs]
    return next((answer for answer in answers if isinstance(answer.decision, Admit)), answers[0])


def check_usable(volume: Volume) -> None:
    if volume.problem is not None:
        raise VolumeProblem(
            f"Cannot use volume {volume.name}: {volume.problem}",
            hint="It is used again automatically once this is fixed.",
            volume=volume.name,
        )
    if volume.capacity_bytes == 0 or volume.seen_at is None:
        raise VolumeProblem(
            f"No agent has checked volume {volume.name} yet.",
            hint=f"The agent of site {volume.site} does so within seconds of its start. See: mill doctor",
            volume=volume.name,
        )


def start_fills(tx: Connection, volume: Volume, now: datetime) -> bool:
    """Give a number to the waiting fills and workspaces for which there is room now; whether there were any.

    To be called whenever room may have become free. From here on agents are told to fill.
    """
    stock = stock_of(tx, volume.id, now)
    usable = usable_room(space_of(volume), stock)
    chosen = fills_to_start(usable, stock)
    for cached_id in chosen:
        caches.change(tx, cached_id, attempt=volumes.take_attempt(tx, volume.id))
    return start_waiting(tx, volume, usable, stock) or bool(chosen)


def mark_evictions(tx: Connection, volume: Volume, plan: Sequence[Evict]) -> tuple[CachedView, ...]:
    """Each gets a new attempt number: what an agent still does under the old one no longer counts.

    A fill that was still waiting is nowhere yet, so it is simply forgotten.
    """
    marked: list[CachedView] = []
    for evict in plan:
        view = caches.get(tx, evict.id)
        if view is None:
            continue
        if view.cached.state is CachedState.FILLING and view.cached.attempt == 0:
            caches.delete(tx, evict.id)
        else:
            caches.change(
                tx,
                evict.id,
                state=CachedState.EVICTING,
                attempt=volumes.take_attempt(tx, volume.id),
                reason=evict.reason,
                cause=evict.cause,
                cleared_by=evict.by,
                problem=None,
                **_kept_of(view.cached),
            )
            view = caches.get(tx, evict.id) or view
        marked.append(view)
    return tuple(marked)


def _kept_of(row: CachedCommit) -> dict[str, int]:
    """Of a fill that failed nothing is on the disk, and its room was given to others: it takes none on its way out."""
    return {"reserved_bytes": 0, "reserved_inodes": 0} if row.state is CachedState.FAILED else {}


def refill(tx: Connection, view: CachedView, *, reason: str, now: datetime) -> None:
    """Fill again, in the space it already has, what should be on the volume and is not. `start_fills` begins it."""
    size = caches.size_of(tx, view.cached.commit_id)
    row = view.cached
    volume = volumes.get(tx, row.volume_id)
    room = (
        _room_of(volume, size, size.directory_bytes)
        if size and volume
        else Room(row.reserved_bytes, row.reserved_inodes)
    )
    caches.change(
        tx,
        view.cached.id,
        state=CachedState.FILLING,
        attempt=0,
        done_bytes=0,
        done_files=0,
        ready_at=None,
        requested_at=now,
        reason=reason,
        problem=None,
        base_id=None,
        fetch_bytes=None,
        fetch_files=None,
        found=False,
        reserved_bytes=room.bytes,
        reserved_inodes=room.inodes,
    )


def count_as_whole(tx: Connection, volume: Volume, base_id: str, now: datetime) -> None:
    """A cached commit has gone: what links from it, or did since anybody measured, takes all its room itself now."""
    for one in linking(stock_of(tx, volume.id, now), leaving=True):
        view = caches.get(tx, one.id) if one.base_id == base_id else None
        size = caches.size_of(tx, view.cached.commit_id) if view else None
        if size is None:
            continue
        room = _room_of(volume, size, size.directory_bytes)
        caches.change(tx, one.id, base_id=None, reserved_bytes=room.bytes, reserved_inodes=room.inodes)
        if one.state is CachedState.FILLING:
            caches.change(tx, one.id, fetch_bytes=size.bytes, fetch_files=size.files)


def _beside_base(tx: Connection, volume: Volume, size: CommitSize) -> list[Need]:
    found = best_base(tx, volume.id, size)
    if found is None:
        return []
    base, difference = found
    room = _room_of(volume, difference, size.directory_bytes)
    features = volume.features or {}
    if not features.get("link", True) and not features.get("reflink", False):
        room = _room_of(volume, size, size.directory_bytes)  # unchanged files are copied
    return [Need(room, difference.bytes, difference.files, base.cached_id, base.commit_id)]


def _room_of(volume: Volume, size: CommitSize | Difference, directory_bytes: int | None) -> Room:
    """What the file system of this volume takes, as far as its agent has found out how it allocates."""
    features = volume.features or {}
    allocating = Allocating(features.get("block_bytes") or BLOCK, features.get("inode_bytes") or 0)
    counted = Counted(size.bytes, size.files, size.allocated, size.inodes, directory_bytes)
    return room_of_tree(counted, allocating)


def _admit(volume: Volume, stock: Stock, size: CommitSize, need: Need) -> Admit | Refuse:
    return admit(space_of(volume), stock, Asked(size.written, need.room, size.project_id, need.base_id))


def _put(tx: Connection, row: CachedCommit, failed: CachedView | None) -> None:
    """A fill that had failed begins anew in its row, with its pins and leases."""
    if failed is None:
        caches.insert(tx, row)
        return
    caches.change(
        tx,
        failed.cached.id,
        state=row.state,
        attempt=0,
        reserved_bytes=row.reserved_bytes,
        reserved_inodes=row.reserved_inodes,
        base_id=row.base_id,
        fetch_bytes=row.fetch_bytes,
        fetch_files=row.fetch_files,
        done_bytes=0,
        done_files=0,
        requested_by=row.requested_by,
        requested_at=row.requested_at,
        used_at=row.used_at,
        ready_at=None,
        reason=row.reason,
        problem=None,
        prefetch=row.prefetch,
    )


def _row(
    volume: Volume,
    size: CommitSize,
    need: Need,
    requested_by: str,
    now: datetime,
    reason: str,
    idle_seconds: int | None,
    ahead: bool,
) -> CachedCommit:
    return CachedCommit(
        id=new_id(),
        volume_id=volume.id,
        project_id=size.project_id,
        dataset_id=size.dataset_id,
        commit_id=size.commit_id,
        state=CachedState.FILLING,
        attempt=0,
        reserved_bytes=need.room.bytes,
        bytes=size.bytes,
        files=size.files,
        done_bytes=0,
        done_files=0,
        requested_by=requested_by,
        requested_at=now,
        ready_at=None,
        used_at=now,
        idle_seconds=idle_seconds,
        pinned=False,
        reason=reason,
        base_id=need.base_id,
        reserved_inodes=need.room.inodes,
        fetch_bytes=need.fetch_bytes,
        fetch_files=need.fetch_files,
        prefetch=ahead,
    )


def _does_not_fit(volume: Volume, size: CommitSize, need: Need, answer: Refuse) -> DoesNotFit:
    standing = f" Blocked by: {'; '.join(answer.blockers)}." if answer.blockers else ""
    more_room = "give the volume or project more space, or choose another volume."
    return DoesNotFit(
        f"{'; '.join(answer.reasons)}.{standing}",
        hint=f"Clear, release or unpin something there, {more_room}" if standing else more_room.capitalize(),
        volume=volume.name,
        commit=size.commit_id,
        blockers=list(answer.blockers),
        needed_bytes=need.room.bytes,
    )
