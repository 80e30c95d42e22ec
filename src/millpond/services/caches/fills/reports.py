"""What agents see on volumes: space, problems, what is published, and how fills and evictions come along."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection

from millpond.db import caches, evictions, leases, volume_sightings, volumes
from millpond.db.caches import CachedView
from millpond.decide.stock import freed_by, shares_of
from millpond.model.agent import Agent
from millpond.model.cached_state import CachedState
from millpond.model.egress import CountedFill
from millpond.model.fill_source import SourceKey
from millpond.model.topology import Sight
from millpond.model.volume import CachedCommit, Cause, Volume
from millpond.services.caches import verification as cache_checks
from millpond.services.caches.access import announce
from millpond.services.caches.admission.admit import count_as_whole, refill, start_fills
from millpond.services.caches.admission.stock import stock_of
from millpond.services.caches.fills.fillers import appoint
from millpond.services.caches.fills.shares import take_shares
from millpond.services.caches.fills.unrecorded import take_up
from millpond.services.caches.uses import note_filled, note_progress
from millpond.services.deps import Deps
from millpond.services.egress import counting as egress_counting
from millpond.wire.observed import CommitSeen, FillSeen, VolumeSeen

# A report may be this much older than the row it is held against.
_REPORT_AGE = timedelta(seconds=30)
# Kept free on a volume whose capacity is measured, in hundredths of it.
RESERVE_PERCENT = 5


def observe_volumes(deps: Deps, agent: Agent, seen: Sequence[VolumeSeen]) -> None:
    """Take what an agent found at its site's volumes; call it before `observe_fills` with what went.

    Problems are shown and nothing is filled there until they are gone. A commit that should be on a healthy volume
    and is not is filled again if something holds it, and otherwise forgotten, with the reason recorded.
    """
    for report in seen:
        key, elapsed = (agent.id, report.id), deps.clock.elapsed()
        if deps.repeats.is_known(key, report, elapsed):
            continue
        changed = _observe_volume(deps, agent, report)
        deps.repeats.take(key, report, elapsed)
        for view, what in changed:
            announce(deps, [view], what)


def observe_fills(deps: Deps, agent: Agent, seen: Sequence[FillSeen]) -> None:
    """Take the progress and ends of fills and evictions. Reports under an older attempt number change nothing."""
    if not seen:
        return
    for report in _under_way(deps, seen):
        changed = _observe_fill(deps, agent, report)
        if changed is None:
            continue
        view, what = changed
        announce(deps, [view], what)
        if what != "progress":
            deps.events.wake("schedule")
            deps.events.wake("agents")


def _observe_volume(deps: Deps, agent: Agent, seen: VolumeSeen) -> list[tuple[CachedView, str]]:
    now = deps.clock.now()
    with deps.db.write() as tx:
        volume = volumes.lock(tx, seen.id)
        if volume is None:
            return []
        volume_sightings.put(tx, Sight(agent.id, volume.id, seen.problem, now))
        if volume.site_id != agent.site_id:
            return []  # a visitor's look says whether it serves there, and nothing of the volume itself
        if appoint(tx, deps, volume) != agent.id:
            return []  # what counts is what the one sees that works there
        take_shares(tx, volume, seen.shares)
        measured = _measured(volume, seen)
        volumes.change(tx, volume.id, seen_at=now, problem=seen.problem, **measured)
        changed: list[tuple[CachedView, str]] = []
        if seen.problem is None and seen.commits is not None:
            changed = _reconcile(tx, volume, seen.commits, now)
            changed += [(view, "found") for view in take_up(tx, volume, seen.commits, now)]
        measured_volume = volumes.get(tx, volume.id) or volume
        started = seen.problem is None and start_fills(tx, measured_volume, now)
    if started:
        deps.events.wake("agents")
    if volume.seen_at is None or seen.problem != volume.problem or "capacity_bytes" in measured:
        data = {"id": volume.id, "what": "volume", "volume": volume.name, "problem": seen.problem}
        deps.events.publish("caches", project_id=None, data=data)
        deps.events.wake("schedule")
        deps.events.wake("agents")
    return changed


def _measured(volume: Volume, seen: VolumeSeen) -> dict[str, Any]:
    """A volume added without a capacity takes what is free when its agent first looks; 5 % of it is kept as reserve.

    One that holds commits already takes the disk: what is theirs is not known yet, and other files are minded anyway.
    """
    if seen.disk_free_bytes is None:
        return {}
    values: dict[str, Any] = {
        "disk_free_bytes": seen.disk_free_bytes,
        "disk_total_bytes": seen.disk_total_bytes,
        "inodes_total": seen.inodes_total,
        "inodes_free": seen.inodes_free,
        "leftover_bytes": seen.leftover_bytes,
    }
    if seen.tier is not None and volume.tier_by is None:
        values["tier_enforced"] = seen.tier.model_dump()
    if seen.features is not None:
        values["features"] = seen.features.model_dump()
    if volume.capacity_bytes == 0:
        capacity = seen.disk_total_bytes if seen.commits and seen.disk_total_bytes else seen.disk_free_bytes
        values["capacity_bytes"] = capacity
        if volume.reserve_bytes == 0:
            values["reserve_bytes"] = capacity * RESERVE_PERCENT // 100
    return values


def _reconcile(
    tx: Connection, volume: Volume, seen: Sequence[CommitSeen], now: datetime
) -> list[tuple[CachedView, str]]:
    there = {(commit.dataset_id, commit.commit_id) for commit in seen}
    holders = leases.holders_on(tx, volume.id, now)
    changed: list[tuple[CachedView, str]] = []
    for view in caches.of_volume(tx, volume.id):
        row = view.cached
        settled = row.state is CachedState.READY and row.ready_at is not None and now - row.ready_at > _REPORT_AGE
        if not settled or (row.dataset_id, row.commit_id) in there:
            continue
        if row.pinned or holders.get(row.id):
            refill(tx, view, reason="it was missing from the volume and is filled again", now=now)
            changed.append((caches.get(tx, row.id) or view, "filling"))
        else:
            evictions.record(tx, row, reason="it was missing from the volume", now=now, cause=Cause.LOST)
            caches.delete(tx, row.id)
            count_as_whole(tx, volume, row.id, now)
            changed.append((view, "gone"))
    return changed


def _under_way(deps: Deps, seen: Sequence[FillSeen]) -> list[FillSeen]:
    """Agents repeat what is long known: only news of work that goes on is worth a write transaction."""
    with deps.db.read() as tx:
        rows = {view.cached.id: view.cached for view in caches.of_ids(tx, [report.cached_id for report in seen])}
    known = ((report, rows.get(report.cached_id)) for report in seen)
    return [report for report, row in known if row is not None and _goes_on(row) and not _is_known(row, report)]


def _goes_on(row: CachedCommit) -> bool:
    return row.state in (CachedState.FILLING, CachedState.EVICTING) or row.is_verifying


def _is_known(row: CachedCommit, seen: FillSeen) -> bool:
    """Whether a fill is told to be as far as it was."""
    told = (seen.state, seen.problem, seen.done_bytes, seen.done_files)
    return told == ("filling", row.problem, row.done_bytes, row.done_files) and not row.is_verifying


def _observe_fill(deps: Deps, agent: Agent, seen: FillSeen) -> tuple[CachedView, str] | None:
    now = deps.clock.now()
    with deps.db.write() as tx:
        view = caches.get(tx, seen.cached_id)
        volume = volumes.lock(tx, view.cached.volume_id) if view else None
        view = caches.get(tx, seen.cached_id)  # again, now that nobody else changes it
        if view is None or volume is None or volume.site_id != agent.site_id or _number(view.cached) != seen.attempt:
            return None
        if view.cached.state is CachedState.FILLING and not view.cached.found:
            egress_counting.count(tx, view, _given(seen), now)
        what = _apply(tx, view, seen, now)
        if what == "evicted":
            count_as_whole(tx, volume, view.cached.id, now)
        if what in ("evicted", "gone", "failed"):
            start_fills(tx, volume, now)
        return (caches.get(tx, seen.cached_id) or view, what) if what else None


def _given(seen: FillSeen) -> CountedFill:
    given = {SourceKey(one.kind, one.id): one.bytes for one in seen.sources}
    return CountedFill(seen.cached_id, seen.attempt, seen.session, given)


def _number(row: CachedCommit) -> int:
    """The number under which something goes on with it."""
    return row.verify if row.is_verifying else row.attempt


def _apply(tx: Connection, view: CachedView, seen: FillSeen, now: datetime) -> str | None:
    """One report under the current attempt; what it changed, None for nothing new."""
    row = view.cached
    if row.is_verifying:
        return cache_checks.observe(tx, row, seen, now)
    if row.state is CachedState.FILLING and seen.state == "ready":
        caches.change(
            tx, row.id, state=CachedState.READY, ready_at=now, used_at=now, problem=None,
            done_bytes=row.bytes, done_files=row.files, found=False,
        )  # fmt: skip
        if not row.found:
            note_filled(tx, row, seen, now)
        return "ready"
    if row.state is CachedState.FILLING and row.found and seen.state == "evicted":
        caches.delete(tx, row.id)  # it had gone before anybody looked
        return "gone"
    if row.state is CachedState.FILLING and seen.state == "failed" and not seen.transient:
        caches.change(tx, row.id, state=CachedState.FAILED, problem=seen.problem or "The fill failed.")
        return "failed"
    if row.state is CachedState.EVICTING and seen.state == "evicted":
        freed = freed_by(shares_of(stock_of(tx, row.volume_id, now)), {row.id}).bytes
        evictions.record(tx, row, reason=row.reason, now=now, freed=freed)
        caches.delete(tx, row.id)
        return "evicted"
    if row.state not in (CachedState.FILLING, CachedState.EVICTING):
        return None
    done = (seen.done_bytes, seen.done_files) if row.state is CachedState.FILLING else (row.done_bytes, row.done_files)
    if (seen.problem, *done) == (row.problem, row.done_bytes, row.done_files):
        return None
    caches.change(tx, row.id, problem=seen.problem, done_bytes=done[0], done_files=done[1])
    if row.state is CachedState.FILLING:
        note_progress(tx, row, seen, now)
    return "progress"
