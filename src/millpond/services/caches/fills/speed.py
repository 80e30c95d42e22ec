"""How fast fills under way are, and how long they still take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import Connection

from millpond.db import links
from millpond.db.caches import CachedView
from millpond.decide.bandwidth import STALLED_SECONDS, own_rate, seconds_left
from millpond.model.cached_state import CachedState
from millpond.model.topology import LAKE, FillRate
from millpond.model.volume import CachedCommit
from millpond.services.caches.fills import rates as fill_rates


@dataclass(frozen=True, slots=True)
class FillSpeed:
    """`source_id` is `lake`, or the site the bytes come from. None for what is not known yet.

    `is_stalled`: nothing has come for so long that nobody knows when it ends.
    """

    source_id: str
    bytes_per_second: float | None
    seconds_left: float | None
    is_stalled: bool = False


def speeds(tx: Connection, found: Iterable[CachedView], now: datetime) -> Mapping[str, FillSpeed]:
    """Of those among them that are filling, by the id of the cached commit. All who show a time left show this one."""
    filling = [
        replace(view.cached, problem=view.cached.problem or view.volume_problem)
        for view in found
        if view.cached.state is CachedState.FILLING
    ]
    if not filling:
        return {}
    rates = links.rates(tx)
    lake = {one.volume_id: one.bytes_per_second for one in links.bandwidths(tx) if one.source_id == LAKE}
    traffic = fill_rates.load(tx, now)
    most = {row.id: traffic.most(row.id) for row in filling}
    return {row.id: fill_speed(row, rates.get(row.id), lake.get(row.volume_id), now, most[row.id]) for row in filling}


def fill_speed(
    row: CachedCommit, rate: FillRate | None, lake: float | None, now: datetime, most: float | None = None
) -> FillSpeed:
    """Of one fill, by what it brought lately; before that by `lake`, what earlier fills of its volume brought.

    `most` is what limits let through.
    """
    # What is told of a fill that has nothing yet is of the one before it.
    known = rate if rate is not None and row.done_bytes else None
    last = known.at if known is not None and known.at is not None else row.requested_at
    if row.problem is not None or (now - last).total_seconds() > STALLED_SECONDS:
        return FillSpeed(known.source_id if known else LAKE, None, None, is_stalled=True)
    fetched, seconds, files = (known.fetched_bytes, known.seconds, known.files) if known else (0, 0.0, 0)
    # What is linked from a commit beside it takes no time to speak of.
    missing = min(row.bytes - row.done_bytes, row.bytes if row.fetch_bytes is None else row.fetch_bytes)
    return FillSpeed(
        source_id=known.source_id if known else LAKE,
        bytes_per_second=own_rate(fetched, seconds),
        seconds_left=seconds_left(
            missing,
            seconds=seconds,
            fetched_bytes=fetched,
            bytes_per_second=lake,
            most=most,
            missing_files=row.files - row.done_files,
            done_files=files,
        ),
    )
