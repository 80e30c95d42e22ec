"""Chooses where a fill fetches from: the lake, or a mounted volume of another site that has the commit.

Time and money are combined: an hour of filling is worth a price. The cheapest source wins; without better
knowledge it is the lake, which has everything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from millpond.decide.bandwidth import expected_seconds
from millpond.model.quantity import format_bytes, format_rate, format_seconds
from millpond.model.topology import LAKE

_HOUR = 3600.0
_GB = 10**9


@dataclass(frozen=True, slots=True)
class FillWay:
    """One possible source. `bytes_per_second` is measured, or else the configured bandwidth of the link."""

    id: str  # `lake`, or of a volume
    name: str
    bytes_per_second: float | None = None
    price_per_gb: float = 0.0
    # None when the filling agent can read it; else why not.
    obstacle: str | None = None


@dataclass(frozen=True, slots=True)
class FillSource:
    """The chosen source, with a sentence for each one considered."""

    id: str
    reasons: tuple[str, ...]

    @property
    def is_lake(self) -> bool:
        return self.id == LAKE


def choose_source(
    lake: FillWay, volumes: Sequence[FillWay], missing_bytes: int, *, fill_price: float = 1.0
) -> FillSource:
    """The cheapest source in time and money; ties: the lake first, then by name."""
    usable = [way for way in volumes if way.obstacle is None and way.bytes_per_second]
    ranked = sorted(usable, key=lambda way: (_cost(way, missing_bytes, fill_price), way.name))
    best = ranked[0] if ranked else None
    takes_lake = best is None or (
        lake.bytes_per_second is not None
        and _cost(lake, missing_bytes, fill_price) <= _cost(best, missing_bytes, fill_price)
    )
    chosen = lake if takes_lake or best is None else best
    others = [way for way in (lake, *sorted(volumes, key=lambda way: way.name)) if way is not chosen]
    first = f"fetched from {chosen.name}: {_described(chosen, missing_bytes)}"
    return FillSource(chosen.id, (first, *(f"not from {way.name}: {_described(way, missing_bytes)}" for way in others)))


def _cost(way: FillWay, missing_bytes: int, fill_price: float) -> float:
    seconds = expected_seconds(missing_bytes, way.bytes_per_second) or 0.0
    return fill_price * seconds / _HOUR + way.price_per_gb * missing_bytes / _GB


def _described(way: FillWay, missing_bytes: int) -> str:
    if way.obstacle is not None:
        return way.obstacle
    if not way.bytes_per_second:
        return "its speed has not been measured yet"
    seconds = expected_seconds(missing_bytes, way.bytes_per_second) or 0.0
    words = f"{format_bytes(missing_bytes)} in about {format_seconds(seconds)} at {format_rate(way.bytes_per_second)}"
    price = way.price_per_gb * missing_bytes / _GB
    return f"{words}, for {price:.2f}" if price else words
