"""Applies the decisions about a volume's space: beginning fills, marking evictions. Inside the caller's transaction.

Every function here expects the volume to be locked (`db.volumes.lock`), so that bytes are never promised twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from millpond.db import caches, leases, volumes
from millpond.db.caches import CachedView, CommitSize
from millpond.db.leases import Sees
from millpond.decide.admission import Refuse, Space, admit, fills_to_start, usable_bytes
from millpond.decide.eviction import Evict, Held
from millpond.errors import DoesNotFit, NotReady, VolumeProblem
from millpond.model.ids import new_id
from millpond.model.volume import CachedCommit, CachedState, Volume


def _everything(project_id: str | None) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Begun:
    """`started` is False when the commit was there or on its way already."""

    cached: CachedView
    started: bool
    reasons: tuple[str, ...]
    evicting: tuple[CachedView, ...] = ()


def begin_fill(
    tx: Connection, volume: Volume, size: CommitSize, *, requested_by: str, now: datetime, sees: Sees = _everything
) -> Begun:
    """The one row of this commit on this volume, begun if it was absent or had failed.

    VolumeProblem while the volume is unwell, DoesNotFit when admission refuses (`details["blockers"]` say what
    stands in the way, as far as the one who asks `sees` it), NotReady while the commit is on its way out.
    """
    found = caches.find(tx, volume.id, size.commit_id)
    if found and found.cached.state in (CachedState.READY, CachedState.FILLING):
        caches.touch(tx, [found.cached.id], now)
        what = "is cached on" if found.cached.state is CachedState.READY else "is on its way to"
        return Begun(found, False, (f"{size.written} {what} {volume.name} already",))
    if found and found.cached.state is CachedState.EVICTING:
        raise NotReady(f"{size.written} is just leaving {volume.name}.", hint="Ask again in a moment.")
    check_usable(volume)
    held = [h for h in held_on(tx, volume.id, now, sees=sees) if found is None or h.id != found.cached.id]
    answer = admit(space_of(volume), held, size.written, size.allocated)
    if isinstance(answer, Refuse):
        raise _does_not_fit(volume, size, answer)
    evicting = mark_evictions(tx, volume, answer.evict)
    _add(tx, volume, size, found, requested_by=requested_by, now=now, reason="; ".join(answer.reasons))
    start_fills(tx, volume, now)
    begun = caches.find(tx, volume.id, size.commit_id)
    assert begun is not None  # written just above, in this transaction
    return Begun(begun, True, answer.reasons, evicting)


def check_usable(volume: Volume) -> None:
    if volume.problem is not None:
        raise VolumeProblem(
            f"Volume {volume.name} cannot be used: {volume.problem}",
            hint="It is used again by itself once this is mended.",
            volume=volume.name,
        )
    if volume.capacity_bytes == 0 or volume.seen_at is None:
        raise VolumeProblem(
            f"No agent has looked at volume {volume.name} yet.",
            hint=f"The agent of site {volume.site} does so within seconds of its start; see `mill doctor`.",
            volume=volume.name,
        )


def held_on(tx: Connection, volume_id: str, now: datetime, *, sees: Sees = _everything) -> list[Held]:
    """The volume's cached commits with their leases, as decisions see them; names only of projects one `sees`."""
    holders = leases.holders_on(tx, volume_id, now)
    return [
        Held(
            id=view.cached.id,
            name=view.written if sees(view.cached.project_id) else "a commit of another project",
            state=view.cached.state,
            attempt=view.cached.attempt,
            reserved_bytes=view.cached.reserved_bytes,
            done_bytes=view.cached.done_bytes,
            requested_at=view.cached.requested_at,
            used_at=view.cached.used_at,
            idle_seconds=view.cached.idle_seconds,
            pinned=view.cached.pinned,
            leased_by=tuple(holder.shown(sees) for holder in holders.get(view.cached.id, ())),
        )
        for view in caches.of_volume(tx, volume_id)
    ]


def space_of(volume: Volume) -> Space:
    return Space(volume.name, volume.capacity_bytes, volume.reserve_bytes, volume.disk_free_bytes)


def start_fills(tx: Connection, volume: Volume, now: datetime) -> bool:
    """Give a number to the waiting fills for which there is room now; whether there were any.

    To be called whenever room may have become free. From here on agents are told to fill.
    """
    held = held_on(tx, volume.id, now)
    chosen = fills_to_start(usable_bytes(space_of(volume), held), held)
    for cached_id in chosen:
        caches.change(tx, cached_id, attempt=volumes.take_attempt(tx, volume.id))
    return bool(chosen)


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
            attempt = volumes.take_attempt(tx, volume.id)
            caches.change(tx, evict.id, state=CachedState.EVICTING, attempt=attempt, reason=evict.reason, problem=None)
            view = caches.get(tx, evict.id) or view
        marked.append(view)
    return tuple(marked)


def refill(tx: Connection, view: CachedView, *, reason: str, now: datetime) -> None:
    """Fill again, in the space it already has, what should be on the volume and is not. `start_fills` begins it."""
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
    )


def _add(
    tx: Connection,
    volume: Volume,
    size: CommitSize,
    failed: CachedView | None,
    *,
    requested_by: str,
    now: datetime,
    reason: str,
) -> None:
    if failed is not None:
        refill(tx, failed, reason=reason, now=now)
        caches.change(tx, failed.cached.id, reserved_bytes=size.allocated, requested_by=requested_by, used_at=now)
    else:
        caches.insert(tx, _row(volume, size, requested_by, now, reason))


def _row(volume: Volume, size: CommitSize, requested_by: str, now: datetime, reason: str) -> CachedCommit:
    return CachedCommit(
        id=new_id(),
        volume_id=volume.id,
        project_id=size.project_id,
        dataset_id=size.dataset_id,
        commit_id=size.commit_id,
        state=CachedState.FILLING,
        attempt=0,
        reserved_bytes=size.allocated,
        bytes=size.bytes,
        files=size.files,
        done_bytes=0,
        done_files=0,
        requested_by=requested_by,
        requested_at=now,
        ready_at=None,
        used_at=now,
        idle_seconds=None,
        pinned=False,
        reason=reason,
    )


def _does_not_fit(volume: Volume, size: CommitSize, answer: Refuse) -> DoesNotFit:
    standing = f" In the way: {'; '.join(answer.blockers)}." if answer.blockers else ""
    return DoesNotFit(
        f"{'; '.join(answer.reasons)}.{standing}",
        hint="Clear or unpin something there, enlarge the volume, or choose another one.",
        volume=volume.name,
        commit=size.commit_id,
        blockers=list(answer.blockers),
        needed_bytes=size.allocated,
    )
