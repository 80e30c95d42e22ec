"""Cached commits as jobs meet them: having them on a volume, holding them there, and telling who watches."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import Connection

from millpond.db import caches, leases, projects, users, volumes
from millpond.db.caches import CachedView, CommitSize
from millpond.errors import NotFound
from millpond.model.cached_state import CachedState
from millpond.model.volume import Volume
from millpond.services.caches.admission.admit import begin_fill
from millpond.services.caches.uses import count_miss

# How long a job waits before a fill that failed for good is tried anew.
RETRY_AFTER = timedelta(seconds=60)


def ensure_cached_for_job(
    tx: Connection, *, now: datetime, job_id: str, requested_by: str, commits: Sequence[str], volume_id: str
) -> list[CachedView]:
    """Hold every commit (inputs and code) on the volume for the job; begin fills for those that are absent.

    Call it as often as you like: at placing, and again while the job prepares. All commits are leased by the job when
    it returns, in the order given; the job may start once every `cached.state` is READY. A fill that failed is
    begun anew after RETRY_AFTER; until then its row says FAILED and why. Raises, with nothing changed, DoesNotFit
    (wait, its message is the reason), VolumeProblem (wait), NotReady (wait: on its way out), NotFound (a dataset
    was deleted, or is not for whoever submitted the job any more). After the transaction call `announce(deps, rows)`.
    """
    with tx.begin_nested():
        volume = volumes.lock(tx, volume_id)
        if volume is None:
            raise NotFound("The volume no longer exists.", noun="volume", name=volume_id)
        # What is there is held first, so that making room for one input never evicts another.
        for commit_id in commits:
            present = caches.find(tx, volume_id, commit_id)
            if present and present.cached.state in (CachedState.READY, CachedState.FILLING) and not present.leaving:
                lease_for_job(tx, job_id, [present.cached.id], now=now)
        return [_ensure(tx, volume, commit_id, job_id=job_id, by=requested_by, now=now) for commit_id in commits]


def cache_ahead(
    tx: Connection, *, now: datetime, requested_by: str, commits: Sequence[str], volume_id: str
) -> list[CachedView]:
    """Begin fills of commits that a job will need. Nothing is leased: it is there, or on its way, when the job comes.

    Raises as `ensure_cached_for_job` does.
    """
    with tx.begin_nested():
        volume = volumes.lock(tx, volume_id)
        if volume is None:
            raise NotFound("The volume no longer exists.", noun="volume", name=volume_id)
        return [_begin(tx, volume, commit_id, by=requested_by, now=now) for commit_id in commits]


def lease_for_job(tx: Connection, job_id: str, cached_ids: Sequence[str], *, now: datetime) -> None:
    """Promise that these are not evicted until `release_for_job`. Leasing again changes nothing."""
    for cached_id in cached_ids:
        leases.hold_for_job(tx, cached_id, job_id, now)
    caches.touch(tx, cached_ids, now)


def release_for_job(tx: Connection, job_id: str, *, now: datetime) -> None:
    """End the job's leases: only when it is known to have ended, or its placement has certainly run out."""
    caches.touch(tx, leases.release_job(tx, job_id), now)


# Parts -----------------------------------------------------------------------------------------------


def _ensure(tx: Connection, volume: Volume, commit_id: str, *, job_id: str, by: str, now: datetime) -> CachedView:
    found = caches.find(tx, volume.id, commit_id)
    if found and found.cached.state is CachedState.FAILED and now - found.cached.requested_at < RETRY_AFTER:
        return found
    begun = _begin(tx, volume, commit_id, by=by, now=now)
    lease_for_job(tx, job_id, [begun.cached.id], now=now)
    return begun


def _begin(tx: Connection, volume: Volume, commit_id: str, *, by: str, now: datetime) -> CachedView:
    size = caches.size_of(tx, commit_id)
    if size is None:
        raise NotFound(f"Commit {commit_id[:8]} no longer exists.", noun="commit", name=commit_id)
    _check_right(tx, by, size)
    # A job that waits for it holds a lease: what is fetched while it is queued lets others go first.
    begun = begin_fill(tx, volume, size, requested_by=by, now=now, ahead=True)
    if begun.started:
        count_miss(tx, begun.cached.cached, now)
    return begun.cached


def _check_right(tx: Connection, by: str, size: CommitSize) -> None:
    """NotFound once the one who submitted the job has no role in the data's project any more."""
    user = users.find(tx, by)
    if user is None or not (user.is_admin or size.project_id in projects.roles_of(tx, user.id)):
        raise NotFound(
            f"{by} no longer has access to {size.written}.", hint="Ask for a role in its project.", noun="commit"
        )
