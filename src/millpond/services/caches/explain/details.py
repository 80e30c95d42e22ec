"""Cached commits with all that one may know of them: holders, sizes, when they go, what is in the way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from sqlalchemy import Connection

from millpond.db import caches, leases
from millpond.db.caches import CachedView
from millpond.db.leases import Holder
from millpond.decide.stock import Room, measured_ids, rooms, shares_of
from millpond.model.cached_state import CachedState
from millpond.model.dataset import DatasetKind
from millpond.model.documents import from_document
from millpond.model.people import Actor
from millpond.model.volume import CacheVerification, LeaseKind
from millpond.services.caches import keepers
from millpond.services.caches.admission.stock import stock_of
from millpond.services.caches.explain.given import SourceGave, given_to
from millpond.services.caches.fills.speed import FillSpeed, speeds
from millpond.services.computes.presence import is_connected
from millpond.services.people import access


@dataclass(frozen=True, slots=True)
class LeaseHolder:
    """Who keeps it: a job by its written name, or a user."""

    job: str | None
    user: str | None
    kind: LeaseKind
    reason: str
    since: datetime
    until: datetime | None


@dataclass(frozen=True, slots=True)
class CachedDetails:
    """A cached commit as somebody may see it."""

    id: str
    volume: str
    site: str
    project: str
    dataset: str
    dataset_id: str
    commit_id: str
    path: str  # where the files lie on the volume's machines
    state: CachedState
    bytes: int
    files: int
    done_bytes: int
    done_files: int
    requested_by: str
    requested_at: datetime
    ready_at: datetime | None
    used_at: datetime
    expires_at: datetime | None  # when it goes if nobody uses it; None while leased or pinned or not ready
    idle_seconds: int
    idle_by: Literal["commit", "dataset", "volume"]  # whose idle time that is
    pinned: bool
    pinned_by: str | None
    pinned_at: datetime | None
    leased_by: Sequence[LeaseHolder]
    reason: str
    problem: str | None
    kind: DatasetKind
    allocated_bytes: int
    freed_bytes: int  # what evicting it alone gives back
    measured: bool
    fetch_bytes: int | None  # from the lake; None: the whole commit
    fetch_files: int | None
    base: str | None  # the commit from which unchanged files are linked
    waiting: bool  # for room, or for an agent that fills
    kept_by: Sequence[str]  # branches that keep it by a policy
    leaving: bool  # nothing new may use it: it goes when the last lease ends
    verification: CacheVerification | None
    bytes_per_second: float | None
    seconds_left: float | None
    sources: Sequence[SourceGave]  # which source gave which bytes, the largest first


@dataclass(frozen=True, slots=True)
class _Volume:
    """What the details of all cached commits of one volume need."""

    taken: Mapping[str, Room]
    freed: Mapping[str, int]
    measured: set[str]
    kept: Mapping[str, str]


def details(tx: Connection, actor: Actor, found: Sequence[CachedView], now: datetime) -> list[CachedDetails]:
    held = leases.holders(tx, [view.cached.id for view in found], now)
    places = {volume_id: _volume(tx, volume_id, now) for volume_id in {view.cached.volume_id for view in found}}
    bases = {base.cached.id: base.cached.commit_id for base in caches.of_ids(tx, _base_ids(found))}
    known, given = speeds(tx, found, now), given_to(tx, found)
    return [
        _details(
            view,
            [_holder(actor, holder) for holder in held.get(view.cached.id, ())],
            places[view.cached.volume_id],
            bases,
            known.get(view.cached.id),
            given.get(view.cached.id, ()),
            now,
        )
        for view in found
    ]


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
    return _Volume(rooms(shares), own, measured_ids(stock.measured), keepers.kept_on(tx, volume_id))


def _details(
    view: CachedView,
    holders: Sequence[LeaseHolder],
    place: _Volume,
    bases: Mapping[str, str],
    speed: FillSpeed | None,
    given: Sequence[SourceGave],
    now: datetime,
) -> CachedDetails:
    row = view.cached
    kept = [branch] if (branch := place.kept.get(row.commit_id)) else []
    is_idle = row.state is CachedState.READY and not row.pinned and not holders and not kept
    problem = _problem(view, now)
    return CachedDetails(
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
        leased_by=holders,
        reason=row.reason,
        problem=problem,
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
        verification=from_document(CacheVerification, row.verification) if row.verification else None,
        bytes_per_second=speed.bytes_per_second if speed else None,
        # Nobody knows for how long it is held up.
        seconds_left=speed.seconds_left if speed and not problem else None,
        # What is told of a fill that has nothing yet is of the one before it.
        sources=given if row.done_bytes else (),
    )


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


def _holder(actor: Actor, holder: Holder) -> LeaseHolder:
    job = holder.job if holder.job is None or access.sees(actor, holder.project_id) else "another project"
    return LeaseHolder(
        job=job, user=holder.user, kind=holder.kind, reason=holder.reason, since=holder.since, until=holder.until
    )
