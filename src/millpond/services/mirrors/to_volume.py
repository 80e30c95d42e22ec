"""Keeps a commit cached on a volume of another site: its agent fills it, and the one before stays until it is there."""

from __future__ import annotations

from dataclasses import dataclass
from logging import getLogger

from millpond.db import caches, mirrors, volumes
from millpond.db.caches import CachedView
from millpond.errors import NotFound, VolumeProblem
from millpond.model.cached_state import CachedState
from millpond.model.mirror import Mirror
from millpond.model.quantity import format_bytes
from millpond.model.volume import Volume
from millpond.services.caches.access import announce as announce_caches
from millpond.services.caches.admission import differences
from millpond.services.caches.admission.admit import begin_fill, would_admit
from millpond.services.deps import Deps
from millpond.services.mirrors.origin import Origin
from millpond.services.mirrors.tally import Tally

logger = getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Filling:
    """The volume does not have it yet. Look again in a moment."""

    what: str


def step(deps: Deps, mirror: Mirror, origin: Origin) -> Tally | Filling:
    """Have it filled, or see how far it is. May be called again and again; raises why it cannot be there."""
    commit_id = origin.commit.id
    with deps.db.read() as tx:
        found = caches.find(tx, mirror.volume_id or "", commit_id)
    if found is not None and found.cached.state is CachedState.READY:
        return _arrived(origin, found, brought=mirror.bringing == commit_id)
    if found is not None and found.cached.state is CachedState.FILLING and mirror.bringing == commit_id:
        return _filling(origin, found)
    if found is not None and found.cached.state is CachedState.FAILED and mirror.bringing == commit_id:
        raise VolumeProblem(f"{origin.written} cannot be cached on {found.volume}: {found.cached.problem}")
    differences.prepare(deps, [commit_id])
    return _begin(deps, mirror, origin)


def plan(deps: Deps, volume: Volume, origin: Origin) -> Tally:
    """What it would bring; raises what admission says against it."""
    differences.prepare(deps, [origin.commit.id])
    tally = Tally()
    with deps.db.read() as tx:
        found = caches.find(tx, volume.id, origin.commit.id)
        size = caches.size_of(tx, origin.commit.id)
        if found is not None and found.cached.state is CachedState.READY:
            tally.unchanged = origin.commit.files
            return tally
        if size is None:
            raise NotFound(f"{origin.written} is no longer in the lake.")
        answer = would_admit(tx, volume, size, deps.clock.now())
    tally.copied, tally.copied_bytes = answer.need.fetch_files, answer.need.fetch_bytes
    tally.unchanged = max(0, origin.commit.files - tally.copied)
    return tally


def _begin(deps: Deps, mirror: Mirror, origin: Origin) -> Tally | Filling:
    now = deps.clock.now()
    with deps.db.write() as tx:
        volume = volumes.lock(tx, mirror.volume_id or "")
        size = caches.size_of(tx, origin.commit.id)
        if volume is None or size is None:
            raise NotFound(f"{origin.written}, or the volume that it is kept on, is gone.")
        # Named before room is looked for: from here on it is kept like what is there.
        mirrors.change(tx, mirror.id, bringing=origin.commit.id)
        begun = begin_fill(tx, volume, size, requested_by=f"mirror {mirror.name}"[:63], now=now, ahead=True)
    if begun.started:
        announce_caches(deps, [begun.cached, *begun.evicting], "changed")
        logger.info("mirror_fills mirror=%s volume=%s commit=%s", mirror.id, volume.name, origin.commit.id[:8])
    return _filling(origin, begun.cached)


def _filling(origin: Origin, found: CachedView) -> Filling:
    row = found.cached
    if row.attempt == 0:
        return Filling(f"waiting for room on {found.volume}")
    whole = row.fetch_bytes if row.fetch_bytes is not None else origin.commit.bytes
    return Filling(f"{format_bytes(row.done_bytes)} of {format_bytes(whole)} on {found.volume}")


def _arrived(origin: Origin, found: CachedView, *, brought: bool) -> Tally:
    tally, row = Tally(), found.cached
    if brought:
        tally.copied = row.fetch_files if row.fetch_files is not None else origin.commit.files
        tally.copied_bytes = row.fetch_bytes if row.fetch_bytes is not None else origin.commit.bytes
    tally.unchanged = max(0, origin.commit.files - tally.copied)
    return tally
