"""Cached commits and their leases as they are shown: names and holders only as far as one may know of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from sqlalchemy import Connection

from millpond.db import caches, leases, policies
from millpond.db.caches import CachedView
from millpond.db.leases import Holder
from millpond.decide.stock import Room, measured_ids, rooms, shares_of
from millpond.model.cached_state import CachedState
from millpond.model.people import Actor
from millpond.services.caches.admission.stock import stock_of
from millpond.services.caches.fills.speed import FillSpeed, speeds
from millpond.services.computes.presence import is_connected
from millpond.services.people import access
from millpond.wire import cache as wire


@dataclass(frozen=True, slots=True)
class _Volume:
    """What the shapes of all cached commits of one volume need."""

    taken: Mapping[str, Room]
    freed: Mapping[str, int]
    measured: set[str]
    kept: Mapping[str, str]


def shapes(tx: Connection, actor: Actor, found: Sequence[CachedView], now: datetime) -> list[wire.CachedCommit]:
    held = leases.holders(tx, [view.cached.id for view in found], now)
    places = {volume_id: _volume(tx, volume_id, now) for volume_id in {view.cached.volume_id for view in found}}
    bases = {base.cached.id: base.cached.commit_id for base in caches.of_ids(tx, _base_ids(found))}
    known = speeds(tx, found)
    shown = [
        _shape(actor, view, held.get(view.cached.id, ()), places[view.cached.volume_id], bases, now) for view in found
    ]
    return [_with_speed(shape, known.get(shape.id)) for shape in shown]


def path_of(view: CachedView) -> str:
    """Where its files lie, on the machines that have the volume."""
    row = view.cached
    return f"{view.volume_path.rstrip('/')}/commits/{row.project_id}/{row.dataset_id}/{row.commit_id}"


def _base_ids(found: Sequence[CachedView]) -> set[str]:
    return {view.cached.base_id for view in found if view.cached.base_id is not None}


def _volume(tx: Connection, volume_id: str, now: datetime) -> _Volume:
    stock = stock_of(tx, volume_id, now)
    shares = shares_of(stock)
    own = {member: 0 for share in shares for member in share.members}
    for share in shares:
        if len(share.members) == 1:
            own[next(iter(share.members))] += share.bytes
    return _Volume(rooms(shares), own, measured_ids(stock.measured), policies.kept_on(tx, volume_id))


def _shape(
    actor: Actor,
    view: CachedView,
    holders: Sequence[Holder],
    place: _Volume,
    bases: Mapping[str, str],
    now: datetime,
) -> wire.CachedCommit:
    row = view.cached
    kept = [branch] if (branch := place.kept.get(row.commit_id)) else []
    is_idle = row.state is CachedState.READY and not row.pinned and not holders and not kept
    return wire.CachedCommit(
        id=row.id,
        volume=view.volume,
        site=view.site,
        project=view.project,
        dataset=view.dataset,
        dataset_id=row.dataset_id,
        commit_id=row.commit_id,
        path=path_of(view),
        state=row.state,
        bytes=row.bytes,
        files=row.files,
        done_bytes=row.done_bytes,
        done_files=row.done_files,
        requested_by=row.requested_by,
        requested_at=row.requested_at,
        ready_at=row.ready_at,
        used_at=row.used_at,
        expires_at=row.used_at + timedelta(seconds=view.idle_seconds) if is_idle else None,
        idle_seconds=view.idle_seconds,
        idle_by=_idle_by(view),
        pinned=row.pinned,
        pinned_by=row.pinned_by,
        pinned_at=row.pinned_at,
        leased_by=[_holder(actor, holder) for holder in holders],
        reason=row.reason,
        problem=_problem(view, now),
        kind=view.kind,
        allocated_bytes=place.taken[row.id].bytes,
        freed_bytes=place.freed.get(row.id, 0),
        measured=row.id in place.measured,
        fetch_bytes=row.fetch_bytes,
        fetch_files=row.fetch_files,
        base=bases.get(row.base_id or ""),
        waiting=row.state is CachedState.FILLING and row.attempt == 0,
        kept_by=kept,
        leaving=view.leaving is not None,
        verification=wire.CacheVerification(**row.verification) if row.verification else None,
    )


def _with_speed(shape: wire.CachedCommit, speed: FillSpeed | None) -> wire.CachedCommit:
    if speed is None:
        return shape
    left = None if shape.problem else speed.seconds_left  # nobody knows for how long it is held up
    return shape.model_copy(update={"bytes_per_second": speed.bytes_per_second, "seconds_left": left})


def _problem(view: CachedView, now: datetime) -> str | None:
    """What is in the way: of itself, its volume, or whoever should work on it."""
    if view.cached.problem or view.volume_problem:
        return view.cached.problem or f"Cannot use its volume: {view.volume_problem}"
    is_under_way = view.cached.state in (CachedState.FILLING, CachedState.EVICTING) or view.cached.is_verifying
    if not is_under_way or is_connected(view.volume_seen_at, now):
        return None
    if view.volume_seen_at is None:
        return (
            f"No agent of site {view.site} has checked {view.volume} yet. It continues when one has: mill compute list"
        )
    # The moment, not how long ago: whoever waits is told anew when the words change.
    silent = f"{view.volume_seen_at.astimezone(UTC):%H:%M:%S} UTC"
    return (
        f"The agent that fills {view.volume} has been silent since {silent}. It continues when "
        f"the agent or another of site {view.site} is back: mill compute list"
    )


def _idle_by(view: CachedView) -> Literal["commit", "dataset", "volume"]:
    if view.cached.idle_seconds is not None:
        return "commit"
    return "dataset" if view.dataset_idle_seconds is not None else "volume"


def _holder(actor: Actor, holder: Holder) -> wire.LeaseHolder:
    job = holder.job if holder.job is None or access.sees(actor, holder.project_id) else "another project"
    return wire.LeaseHolder(
        job=job, user=holder.user, kind=holder.kind, reason=holder.reason, since=holder.since, until=holder.until
    )
