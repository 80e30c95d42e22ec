"""Cached commits as agents and jobs meet them: what is wanted on a volume, what was seen there, who holds what."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import Connection

from millpond.db import caches, leases, server, sites, volumes
from millpond.db.caches import CachedView
from millpond.errors import NotFound
from millpond.model.job import Agent
from millpond.model.volume import CachedState, Volume
from millpond.services.admission import begin_fill, refill, start_fills
from millpond.services.deps import Deps
from millpond.wire.agent import CommitSeen, DesiredFill, DesiredVolume, FillSeen, VolumeSeen

# A report may be this much older than the row it is held against.
_REPORT_AGE = timedelta(seconds=30)
# How long a job waits before a fill that failed for good is tried anew.
RETRY_AFTER = timedelta(seconds=60)
# Kept free on a volume whose capacity is measured, in hundredths of it.
RESERVE_PERCENT = 5


# For the agents' synchronisation ---------------------------------------------------------------------


def observe_volumes(deps: Deps, agent: Agent, seen: Sequence[VolumeSeen]) -> None:
    """Take what an agent found at its site's volumes; call it before `observe_fills`.

    Problems are shown and nothing is filled there until they are gone. A commit that should be on a healthy volume
    and is not is filled again if something holds it, and otherwise forgotten, with the reason recorded.
    """
    for report in seen:
        changed = _observe_volume(deps, agent, report)
        for view, what in changed:
            announce(deps, [view], what)


def observe_fills(deps: Deps, agent: Agent, seen: Sequence[FillSeen]) -> None:
    """Take the progress and ends of fills and evictions. Reports under an older attempt number change nothing."""
    for report in _under_way(deps, seen):
        changed = _observe_fill(deps, agent, report)
        if changed is None:
            continue
        view, what = changed
        announce(deps, [view], what)
        if what != "progress":
            deps.events.wake("schedule")
            deps.events.wake("agents")


def desired_for(deps: Deps, agent: Agent) -> tuple[list[DesiredVolume], list[DesiredFill]]:
    """All volumes of the agent's site, and what is to be filled and evicted on those that are well.

    One agent of a site, the oldest, carries out fills: the others see volumes only. A fill that was admitted
    against an eviction is not told before those bytes are gone.
    """
    with deps.db.read() as tx:
        found = volumes.all_of(tx, agent.site_id)
        fills: list[DesiredFill] = []
        tended = sites.filling_agent(tx, agent.site_id) == agent.id
        if tended:
            for volume in found:
                fills.extend(_desired_on(tx, volume))
        row = server.get(tx)
    lake = (row.lake_id if row else None) or ""
    # A volume whose disk was never measured has not been seen well by any agent.
    wanted = [
        DesiredVolume(id=volume.id, path=volume.path, new=volume.disk_free_bytes is None, lake=lake, tended=tended)
        for volume in found
    ]
    return wanted, fills


# For jobs: inside the caller's write transaction ---------------------------------------------------------


def ensure_cached_for_job(
    tx: Connection, *, now: datetime, job_id: str, requested_by: str, commits: Sequence[str], volume_id: str
) -> list[CachedView]:
    """Hold every commit (inputs and code) on the volume for the job; begin fills for those that are absent.

    Call it as often as you like: at placing, and again while the job prepares. All commits are leased by the job when
    it returns, in the order given; the job may start once every `cached.state` is READY. A fill that failed is
    begun anew after RETRY_AFTER; until then its row says FAILED and why. Raises, with nothing changed, DoesNotFit
    (wait, its message is the reason), VolumeProblem (wait), NotReady (wait: on its way out), NotFound (a dataset
    was deleted). After the transaction call `announce(deps, rows)`.
    """
    with tx.begin_nested():
        volume = volumes.lock(tx, volume_id)
        if volume is None:
            raise NotFound("The volume does not exist any more.", noun="volume", name=volume_id)
        # What is there is held first, so that making room for one input never evicts another.
        for commit_id in commits:
            present = caches.find(tx, volume_id, commit_id)
            if present and present.cached.state in (CachedState.READY, CachedState.FILLING):
                lease_for_job(tx, job_id, [present.cached.id], now=now)
        return [_ensure(tx, volume, commit_id, job_id=job_id, by=requested_by, now=now) for commit_id in commits]


def lease_for_job(tx: Connection, job_id: str, cached_ids: Sequence[str], *, now: datetime) -> None:
    """Promise that these are not evicted until `release_for_job`. Leasing again changes nothing."""
    for cached_id in cached_ids:
        leases.hold_for_job(tx, cached_id, job_id, now)
    caches.touch(tx, cached_ids, now)


def release_for_job(tx: Connection, job_id: str, *, now: datetime) -> None:
    """End the job's leases: only when it is known to have ended, or its placement has certainly run out."""
    caches.touch(tx, leases.release_job(tx, job_id), now)


def announce(deps: Deps, rows: Sequence[CachedView], what: str = "changed") -> None:
    """Tell pages and agents about cached commits that changed; after the transaction."""
    for view in rows:
        row = view.cached
        data = {
            "project": view.project,
            "id": row.id,
            "what": what,
            "dataset": view.dataset,
            "commit": row.commit_id,
            "volume": view.volume,
            "state": row.state.value,
            "done_bytes": row.done_bytes,
            "done_files": row.done_files,
            "bytes": row.bytes,
            "files": row.files,
        }
        deps.events.publish("caches", project_id=row.project_id, data=data)
    if rows and what != "progress":
        deps.events.wake("agents")


# Parts -----------------------------------------------------------------------------------------------


def _ensure(tx: Connection, volume: Volume, commit_id: str, *, job_id: str, by: str, now: datetime) -> CachedView:
    found = caches.find(tx, volume.id, commit_id)
    if found and found.cached.state is CachedState.FAILED and now - found.cached.requested_at < RETRY_AFTER:
        return found
    size = caches.size_of(tx, commit_id)
    if size is None:
        raise NotFound(f"Commit {commit_id[:8]} does not exist any more.", noun="commit", name=commit_id)
    begun = begin_fill(tx, volume, size, requested_by=by, now=now)
    lease_for_job(tx, job_id, [begun.cached.cached.id], now=now)
    return begun.cached


def _desired_on(tx: Connection, volume: Volume) -> list[DesiredFill]:
    if volume.problem is not None:
        return []
    found: list[DesiredFill] = []
    for view in caches.of_volume(tx, volume.id):
        if view.cached.state is CachedState.EVICTING:
            found.append(_desired(view, present=False))
        elif view.cached.state is CachedState.FILLING and view.cached.attempt > 0:
            found.append(_desired(view, present=True))
    return found


def _desired(view: CachedView, *, present: bool) -> DesiredFill:
    row = view.cached
    return DesiredFill(
        cached_id=row.id,
        volume_id=row.volume_id,
        project=view.project,
        project_id=row.project_id,
        dataset=view.dataset,
        dataset_id=row.dataset_id,
        commit_id=row.commit_id,
        tree=view.tree,
        files=row.files,
        bytes=row.bytes,
        attempt=row.attempt,
        want="present" if present else "absent",
    )


def _observe_volume(deps: Deps, agent: Agent, seen: VolumeSeen) -> list[tuple[CachedView, str]]:
    now = deps.clock.now()
    with deps.db.write() as tx:
        volume = volumes.lock(tx, seen.id)
        if volume is None or volume.site_id != agent.site_id:
            return []
        measured = _measured(volume, seen)
        volumes.change(tx, volume.id, seen_at=now, problem=seen.problem, **measured)
        changed: list[tuple[CachedView, str]] = []
        if seen.problem is None and seen.commits is not None:
            changed = _reconcile(tx, volume, seen.commits, now)
        measured_volume = volumes.get(tx, volume.id) or volume
        started = seen.problem is None and start_fills(tx, measured_volume, now)
    if started:
        deps.events.wake("agents")
    if seen.problem != volume.problem or "capacity_bytes" in measured:
        data = {"id": volume.id, "what": "volume", "volume": volume.name, "problem": seen.problem}
        deps.events.publish("caches", project_id=None, data=data)
        deps.events.wake("schedule")
        deps.events.wake("agents")
    return changed


def _measured(volume: Volume, seen: VolumeSeen) -> dict[str, int]:
    """A volume added without a capacity takes what is free when its agent first looks; 5 % of it is kept as reserve."""
    if seen.disk_free_bytes is None:
        return {}
    values = {"disk_free_bytes": seen.disk_free_bytes}
    if volume.capacity_bytes == 0:
        values["capacity_bytes"] = seen.disk_free_bytes
        if volume.reserve_bytes == 0:
            values["reserve_bytes"] = seen.disk_free_bytes * RESERVE_PERCENT // 100
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
            refill(tx, view, reason="it was gone from the volume and is filled again", now=now)
            changed.append((caches.get(tx, row.id) or view, "filling"))
        else:
            caches.record_eviction(tx, row, reason="it was no longer found on the volume", now=now)
            caches.delete(tx, row.id)
            changed.append((view, "gone"))
    return changed


def _under_way(deps: Deps, seen: Sequence[FillSeen]) -> list[FillSeen]:
    """Agents repeat what is long known: only reports about work that goes on are worth a write transaction."""
    with deps.db.read() as tx:
        rows = {view.cached.id: view.cached for view in caches.of_ids(tx, [report.cached_id for report in seen])}
    going_on = (CachedState.FILLING, CachedState.EVICTING)
    return [r for r in seen if r.cached_id in rows and rows[r.cached_id].state in going_on]


def _observe_fill(deps: Deps, agent: Agent, seen: FillSeen) -> tuple[CachedView, str] | None:
    now = deps.clock.now()
    with deps.db.write() as tx:
        view = caches.get(tx, seen.cached_id)
        volume = volumes.lock(tx, view.cached.volume_id) if view else None
        view = caches.get(tx, seen.cached_id)  # again, now that nobody else changes it
        if view is None or volume is None or volume.site_id != agent.site_id or view.cached.attempt != seen.attempt:
            return None
        what = _apply(tx, view, seen, now)
        if what in ("evicted", "failed"):
            start_fills(tx, volume, now)
        return (caches.get(tx, seen.cached_id) or view, what) if what else None


def _apply(tx: Connection, view: CachedView, seen: FillSeen, now: datetime) -> str | None:
    """One report under the current attempt; what it changed, None for nothing new."""
    row = view.cached
    if row.state is CachedState.FILLING and seen.state == "ready":
        caches.change(
            tx, row.id, state=CachedState.READY, ready_at=now, used_at=now, problem=None,
            done_bytes=row.bytes, done_files=row.files,
        )  # fmt: skip
        return "ready"
    if row.state is CachedState.FILLING and seen.state == "failed" and not seen.transient:
        caches.change(tx, row.id, state=CachedState.FAILED, problem=seen.problem or "The fill failed.")
        return "failed"
    if row.state is CachedState.EVICTING and seen.state == "evicted":
        caches.record_eviction(tx, row, reason=row.reason, now=now)
        caches.delete(tx, row.id)
        return "evicted"
    if row.state not in (CachedState.FILLING, CachedState.EVICTING):
        return None
    done = (seen.done_bytes, seen.done_files) if row.state is CachedState.FILLING else (row.done_bytes, row.done_files)
    if (seen.problem, *done) == (row.problem, row.done_bytes, row.done_files):
        return None
    caches.change(tx, row.id, problem=seen.problem, done_bytes=done[0], done_files=done[1])
    return "progress"
