"""What leaves the volumes by itself: idle commits, those above the watermark, those that are deleted or let go."""

from __future__ import annotations

from logging import getLogger

from sqlalchemy import Connection

from millpond.db import caches, leases, volumes
from millpond.db.caches import CachedView
from millpond.decide.eviction import Evict, plan_evictions
from millpond.model.cached_state import CachedState
from millpond.model.volume import Cause, Volume
from millpond.services.caches.access import announce
from millpond.services.caches.admission.admit import mark_evictions
from millpond.services.caches.admission.stock import limits_of, stock_of
from millpond.services.deps import Deps

logger = getLogger(__name__)


def evict_all(deps: Deps) -> int:
    """Plan and mark the evictions of every volume; how many. Agents carry them out."""
    with deps.db.read() as tx:
        found = volumes.all_of(tx)
    return sum(_evict_on(deps, volume.id) for volume in found) + evict_leaving(deps)


def evict_leaving(deps: Deps) -> int:
    """Mark what is cached of deleted datasets, or of commits that nothing names, and not leased any more."""
    with deps.db.read() as tx:
        found = [view for view in caches.leaving(tx) if view.cached.state is not CachedState.EVICTING]
    marked: list[CachedView] = []
    for volume_id in sorted({view.cached.volume_id for view in found}):
        with deps.db.write() as tx:
            volume = volumes.lock(tx, volume_id)
            if volume is not None:
                marked.extend(_mark_leaving(deps, tx, volume))
    _tell(deps, marked)
    return len(marked)


def _evict_on(deps: Deps, volume_id: str) -> int:
    now = deps.clock.now()
    with deps.db.write() as tx:
        leases.drop_expired(tx, now)
        volume = volumes.lock(tx, volume_id)
        if volume is None or volume.problem is not None or volume.capacity_bytes == 0:
            return 0  # nothing can be removed there now
        stock = stock_of(tx, volume.id, now)
        marked = mark_evictions(tx, volume, plan_evictions(limits_of(volume, stock), stock, now))
    _tell(deps, marked)
    return len(marked)


def _mark_leaving(deps: Deps, tx: Connection, volume: Volume) -> list[CachedView]:
    held = leases.holders_on(tx, volume.id, deps.clock.now())
    plan = [
        Evict(view.cached.id, view.leaving or "", Cause.DELETED)
        for view in caches.leaving(tx, volume_id=volume.id)
        if not held.get(view.cached.id) and view.cached.state is not CachedState.EVICTING
    ]
    return list(mark_evictions(tx, volume, plan))


def _tell(deps: Deps, marked: list[CachedView] | tuple[CachedView, ...]) -> None:
    announce(deps, marked, "evicting")
    for view in marked:
        logger.info("eviction_marked %s volume=%s reason=%s", view.written, view.volume, view.cached.reason)
