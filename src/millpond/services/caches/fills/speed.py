"""How fast fills under way are, and how long they still take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sqlalchemy import Connection

from millpond.db import links
from millpond.db.caches import CachedView
from millpond.decide.bandwidth import LEAST_BYTES, seconds_left
from millpond.model.cached_state import CachedState
from millpond.model.topology import LAKE, FillRate
from millpond.model.volume import CachedCommit


@dataclass(frozen=True, slots=True)
class FillSpeed:
    """`source_id` is `lake`, or the site the bytes come from. None for what is not known yet."""

    source_id: str
    bytes_per_second: float | None
    seconds_left: float | None


def speeds(tx: Connection, found: Iterable[CachedView]) -> Mapping[str, FillSpeed]:
    """Of those among them that are filling, by the id of the cached commit."""
    filling = [view.cached for view in found if view.cached.state is CachedState.FILLING]
    if not filling:
        return {}
    rates = links.rates(tx)
    lake = {one.volume_id: one.bytes_per_second for one in links.bandwidths(tx) if one.source_id == LAKE}
    return {row.id: _speed(row, rates.get(row.id), lake.get(row.volume_id)) for row in filling}


def _speed(row: CachedCommit, rate: FillRate | None, lake: float | None) -> FillSpeed:
    # What is told of a fill that has nothing yet is of the one before it.
    fetched, seconds = (rate.fetched_bytes, rate.seconds) if rate and row.done_bytes else (0, 0.0)
    # What is linked from a commit beside it takes no time to speak of.
    missing = min(row.bytes - row.done_bytes, row.bytes if row.fetch_bytes is None else row.fetch_bytes)
    return FillSpeed(
        source_id=rate.source_id if rate and row.done_bytes else LAKE,
        bytes_per_second=fetched / seconds if seconds > 0 and fetched >= LEAST_BYTES else None,
        seconds_left=_left(row, missing, seconds, fetched, lake),
    )


def _left(row: CachedCommit, missing: int, seconds: float, fetched: int, lake: float | None) -> float | None:
    """None while it is held up: nobody knows for how long."""
    if row.problem is not None:
        return None
    return seconds_left(
        missing,
        seconds=seconds,
        fetched_bytes=fetched,
        bytes_per_second=lake,
        missing_files=row.files - row.done_files,
        done_files=row.done_files,
    )
