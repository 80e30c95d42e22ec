"""Links between places, what was measured over them, and how volumes were used over time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from millpond.model.fill_source import SourceKey
from millpond.model.rate_limit import RateLimit

# The end of a link that is not a site: where every commit comes from.
LAKE = "lake"
GBIT = 10**9


@dataclass(frozen=True, slots=True)
class Link:
    """What people say of the way between two places; None for what nobody said. It is the same in both directions."""

    a_id: str
    b_id: str
    bits_per_second: int | None = None
    latency_ms: float | None = None
    price_per_gb: float | None = None
    set_at: datetime | None = None
    # How fast fills may be over it, in both directions together.
    limit: RateLimit | None = None


@dataclass(frozen=True, slots=True)
class Bandwidth:
    """What fills of a volume brought from the lake (`lake`), or from volumes of another site (its id)."""

    volume_id: str
    source_id: str
    bytes_per_second: float
    fills: int
    measured_at: datetime


@dataclass(frozen=True, slots=True)
class Sight:
    """What an agent last found at a volume's path."""

    agent_id: str
    volume_id: str
    problem: str | None
    seen_at: datetime


@dataclass(frozen=True, slots=True)
class FillRate:
    """What the fill of one cached commit has brought over the network in its last seconds; `at`: when it last came.

    `given` are the bytes that each source has given to this attempt so far.
    """

    cached_id: str
    source_id: str
    fetched_bytes: int
    seconds: float
    files: int = 0
    at: datetime | None = None
    given: Mapping[SourceKey, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CacheUses:
    """Counts of a time. A hit: the commit was there or on its way when it was asked for, so nothing was fetched."""

    hits: int = 0
    misses: int = 0
    saved_bytes: int = 0
    saved_seconds: float = 0.0
    fills: int = 0
    filled_bytes: int = 0
    fill_seconds: float = 0.0

    @property
    def hit_rate(self) -> float | None:
        asked = self.hits + self.misses
        return self.hits / asked if asked else None


@dataclass(frozen=True, slots=True)
class VolumeSample:
    """How full a volume was. `reserved_bytes` are promised to fills that are not whole yet."""

    at: datetime
    capacity_bytes: int
    used_bytes: int
    reserved_bytes: int
    free_bytes: int
    foreign_bytes: int


def ordered(a_id: str, b_id: str) -> tuple[str, str]:
    """The two ends as they are kept: the lake first, sites in the order of their ids."""
    return (a_id, b_id) if (a_id != LAKE, a_id) <= (b_id != LAKE, b_id) else (b_id, a_id)
