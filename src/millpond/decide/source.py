"""Chooses where a fill fetches from: the lake, or a volume of another site that has the commit or is just getting it.

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
# So much more than the lake may a source cost that is being filled itself: bytes that are fetched twice burden the line
# of the lake, for whoever came first as well.
_FOLLOWING = 1.25


@dataclass(frozen=True, slots=True)
class FillWay:
    """One possible source. `bytes_per_second` is measured, or else the configured bandwidth of the link."""

    id: str  # `lake`, or of a volume
    name: str
    bytes_per_second: float | None = None
    price_per_gb: float = 0.0
    # In words: `limited to 100 Mbit/s until 18:00 Europe/Berlin`; the speed is within it.
    limit: str = ""
    # None when the filling agent can read it; else why not.
    obstacle: str | None = None
    # Of a volume that is being filled itself: in how many seconds it will be whole. None: it is.
    whole_in: float | None = None


@dataclass(frozen=True, slots=True)
class FillSource:
    """The chosen source, with a sentence for each one considered."""

    id: str
    reasons: tuple[str, ...]
    # It is being filled itself: what it has so far is taken, and the rest as it comes there.
    is_followed: bool = False

    @property
    def is_lake(self) -> bool:
        return self.id == LAKE


def choose_source(
    lake: FillWay, volumes: Sequence[FillWay], missing_bytes: int, *, fill_price: float = 1.0
) -> FillSource:
    """The cheapest source in time and money; ties: the lake first, then by name.

    A lake with an obstacle is taken if there is nothing else: it has everything.
    """
    usable = [way for way in volumes if way.obstacle is None and way.bytes_per_second]
    ranked = sorted(usable, key=lambda way: (_cost(way, missing_bytes, fill_price), way.name))
    best = ranked[0] if ranked else None
    takes_lake = best is None or (
        lake.bytes_per_second is not None
        and lake.obstacle is None
        and _cost(lake, missing_bytes, fill_price) * (1.0 if best.whole_in is None else _FOLLOWING)
        <= _cost(best, missing_bytes, fill_price)
    )
    chosen = lake if takes_lake or best is None else best
    others = [way for way in (lake, *sorted(volumes, key=lambda way: way.name)) if way is not chosen]
    first = f"fetched from {chosen.name}: {_described(chosen, missing_bytes)}"
    reasons = (first, *(f"not from {way.name}: {_described(way, missing_bytes)}" for way in others))
    return FillSource(chosen.id, reasons, is_followed=chosen.whole_in is not None)


def _cost(way: FillWay, missing_bytes: int, fill_price: float) -> float:
    return fill_price * _seconds(way, missing_bytes) / _HOUR + way.price_per_gb * missing_bytes / _GB


def _seconds(way: FillWay, missing_bytes: int) -> float:
    return max(expected_seconds(missing_bytes, way.bytes_per_second) or 0.0, way.whole_in or 0.0)


def _described(way: FillWay, missing_bytes: int) -> str:
    if way.obstacle is not None:
        return way.obstacle
    if not way.bytes_per_second:
        return "its speed has not been measured yet"
    seconds = _seconds(way, missing_bytes)
    words = f"{format_bytes(missing_bytes)} in about {format_seconds(seconds)} at {format_rate(way.bytes_per_second)}"
    price = way.price_per_gb * missing_bytes / _GB
    words += f", for {price:.2f}" if price else ""
    words += "" if way.whole_in is None else ", as it is filled there"
    return f"{words} ({way.limit})" if way.limit else words
