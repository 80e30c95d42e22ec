"""What the cache is worth, counted where it happens: hits, misses, fills and the bandwidth they show.

Inside the caller's write transaction. Counts are kept by volume, project and hour.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection

from millpond.db import links, volume_usage, volumes
from millpond.db.caches import CachedView
from millpond.decide.bandwidth import expected_seconds, updated
from millpond.model.cached_state import CachedState
from millpond.model.fill_source import FAR, LAKE_KEY, SourceKey, SourceKind
from millpond.model.job import Job
from millpond.model.topology import LAKE, Bandwidth, CacheUses, FillRate
from millpond.model.volume import CachedCommit
from millpond.services.caches.fills import rates as fill_rates
from millpond.wire.observed import FillSeen

# A source that gave at least this part of the bytes gave as good as all of them.
_ALONE = 0.9


def count_hit(tx: Connection, row: CachedCommit, now: datetime, *, by: str | None = None) -> None:
    """It was there when somebody asked for it: its bytes are not fetched again.

    Who joins while it is on its way waits like the first who asked, which is neither a hit nor a miss and saves no
    time; but its bytes are not fetched again either. `by` is who asks: whoever asked for it first saves nothing.
    """
    if row.state is CachedState.FILLING and by != row.requested_by:
        _add(tx, row, now, CacheUses(saved_bytes=row.bytes))
    if row.state is not CachedState.READY:
        return
    known = links.bandwidth_of(tx, row.volume_id, LAKE)
    seconds = expected_seconds(row.bytes, known.bytes_per_second if known else None)
    _add(tx, row, now, CacheUses(hits=1, saved_bytes=row.bytes, saved_seconds=seconds or 0.0))


def count_miss(tx: Connection, row: CachedCommit, now: datetime) -> None:
    """It has to be fetched."""
    _add(tx, row, now, CacheUses(misses=1))


def count_placed(tx: Connection, job: Job, found: Sequence[CachedView], now: datetime) -> None:
    """A job was placed beside its data. What was asked for since it was queued was brought for it: no hit."""
    for view in found:
        row = view.cached
        if row.requested_at < job.queued_at:
            count_hit(tx, row, now)


def note_progress(tx: Connection, row: CachedCommit, seen: FillSeen, now: datetime) -> None:
    """Keep what the fill has brought lately, and where most of it comes from."""
    source_id, _ = _source(tx, seen)
    lately = (seen.recent_bytes, seen.recent_seconds, seen.recent_files)
    links.put_rate(tx, FillRate(row.id, source_id, *lately, now, _given(seen)))


def _source(tx: Connection, seen: FillSeen) -> tuple[str, int]:
    """Where most of the bytes came from over a network, and how many came from there."""
    far = [(size, key) for key, size in _given(seen).items() if key.kind in FAR]
    most, source = max(far, default=(0, LAKE_KEY))
    if source.kind is SourceKind.REPLICA:
        return source.id, most
    volume = volumes.get(tx, source.id) if source.id else None
    return (volume.site_id if volume else LAKE), most


def _given(seen: FillSeen) -> dict[SourceKey, int]:
    return {SourceKey(one.kind, one.id): one.bytes for one in seen.sources}


def note_filled(tx: Connection, row: CachedCommit, seen: FillSeen, now: datetime) -> None:
    """A fill is whole: count it, and let it tell the bandwidth, unless it is too small for that."""
    rate = FillRate(row.id, *_source(tx, seen), seen.seconds, at=now, given=_given(seen))
    links.put_rate(tx, rate)
    _add(tx, row, now, CacheUses(fills=1, filled_bytes=rate.fetched_bytes, fill_seconds=rate.seconds))
    if seen.followed or _is_mixed(seen, rate.fetched_bytes) or _was_held_back(tx, row, rate.source_id, now):
        return  # it tells of a limit, of another fill or of another line, not of this one
    before = links.bandwidth_of(tx, row.volume_id, rate.source_id)
    known, fills = (before.bytes_per_second, before.fills) if before else (None, 0)
    after = updated(known, rate.fetched_bytes, rate.seconds, fills=fills)
    if after is not None and after != known:
        links.put_bandwidth(tx, Bandwidth(row.volume_id, rate.source_id, after, fills + 1, now))


def _is_mixed(seen: FillSeen, most: int) -> bool:
    """True if so much came from other sources as well that the time it took is not that of the first."""
    far = sum(size for key, size in _given(seen).items() if key.kind in FAR)
    return most < _ALONE * far


def _was_held_back(tx: Connection, row: CachedCommit, source_id: str, now: datetime) -> bool:
    """True if a limit was in force, or it let others go first."""
    volume = volumes.get(tx, row.volume_id)
    if volume is None:
        return False
    traffic = fill_rates.load(tx, now)
    is_limited = traffic.over(source_id, volume.site_id).bits_per_second is not None
    others = [one for one in traffic.transfers.values() if one.is_waited_for and one.site_id == volume.site_id]
    return is_limited or (row.prefetch and bool(others))


def _add(tx: Connection, row: CachedCommit, now: datetime, value: CacheUses) -> None:
    hour = now.replace(minute=0, second=0, microsecond=0)
    volume_usage.add_uses(tx, row.volume_id, row.project_id, hour, value)
