"""Chooses a volume for a commit when the user names none, with reasons.

Volumes that cannot serve are left out, each with its reason. Of the others: one that has the commit, or is filling it;
one that need evict nothing, the least weight, one with a commit to link from, the most room, the name. The weight is
the expected time to fill × the price ÷ the throughput of its tier: twice the price is worth paying for twice the speed.
Within a factor of two, as measured bandwidths are, nothing is preferred.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log2
from statistics import median

from millpond.decide.bandwidth import expected_seconds
from millpond.decide.near import Serves
from millpond.model.cached_state import CachedState
from millpond.model.quantity import format_bytes, format_count, format_rate, format_seconds

# Taken for a volume nothing was measured of, where nothing was measured of any other either.
_UNMEASURED = 100e6
# Of a tier that costs nothing.
_LEAST_WEIGHT = 1e-6


@dataclass(frozen=True, slots=True)
class VolumeCandidate:
    """One volume to choose from."""

    id: str
    name: str
    # None: nobody said which compute it shall be near.
    serves: Serves | None = None
    problem: str | None = None
    # Why admission refuses it; None if it fits. `evicts`: how many cached commits would have to go first.
    refusal: str | None = None
    evicts: int = 0
    free_bytes: int = 0
    state: CachedState | None = None
    # What holds up the fill that is under way there: such a volume comes last.
    held_up: str | None = None
    # What must be fetched: all of it, or less beside a cached commit that shares files with it.
    fetch_bytes: int = 0
    base: str | None = None
    # From the lake: measured by fills; before there was one, what the link is said to carry.
    bytes_per_second: float | None = None
    is_measured: bool = True
    tier: str = "standard"
    tier_throughput: float = 1.0
    tier_price: float = 1.0

    @property
    def is_there(self) -> bool:
        return self.state in (CachedState.READY, CachedState.FILLING)


@dataclass(frozen=True, slots=True)
class VolumeChoice:
    """Volumes that can hold the commit, best first, and the reason against each of the others."""

    ranked: tuple[VolumeCandidate, ...]
    reasons: tuple[str, ...]
    refused: tuple[str, ...]

    @property
    def best(self) -> VolumeCandidate | None:
        return self.ranked[0] if self.ranked else None


def choose_volume(candidates: Sequence[VolumeCandidate]) -> VolumeChoice:
    """Rank the volumes. The result does not depend on the order of candidates."""
    ordered = sorted(candidates, key=lambda one: one.name)
    refused = tuple(f"{one.name}: {reason}" for one in ordered if (reason := obstacle(one)))
    usable = [one for one in ordered if obstacle(one) is None]
    usual = median(known) if (known := [c.bytes_per_second for c in usable if c.bytes_per_second]) else _UNMEASURED
    ranked = tuple(sorted(usable, key=lambda one: _rank(one, usual)))
    return VolumeChoice(ranked, _why(ranked, usual) if ranked else (), refused)


def obstacle(one: VolumeCandidate) -> str | None:
    """Why the commit cannot go to this volume; None if it can."""
    if one.problem is not None:
        return one.problem
    if one.serves is not None and not one.serves.serves:
        return one.serves.reason
    return None if one.is_there else one.refusal


def _rank(one: VolumeCandidate, usual: float) -> tuple[int, bool, int, bool, int, str]:
    there = 0 if one.state is CachedState.READY else 1 if one.state is CachedState.FILLING else 2
    weight = round(log2(_weight(one, usual)))
    return 3 if one.held_up else there, one.evicts > 0, weight, one.base is None, -one.free_bytes, one.name


def _weight(one: VolumeCandidate, usual: float) -> float:
    """In seconds. Below one second the time makes no difference, the tier does."""
    seconds = max(1.0, one.fetch_bytes / (one.bytes_per_second or usual))
    return max(_LEAST_WEIGHT, seconds * one.tier_price / one.tier_throughput)


def _why(ranked: Sequence[VolumeCandidate], usual: float) -> tuple[str, ...]:
    """Reasons for the first choice."""
    best = ranked[0]
    others = ranked[1:]
    reasons = [
        f"{best.name} was chosen from {format_count(len(ranked), 'volume')}"
        if others
        else f"{best.name} is the only volume that can hold it"
    ]
    if best.serves is not None:
        reasons.append(f"near: {best.serves.reason}")
    if best.is_there:
        held_up = f", but delayed: {best.held_up}" if best.held_up else ""
        return (
            *reasons,
            "it is already cached there"
            if best.state is CachedState.READY
            else f"it is already being cached there{held_up}",
        )
    if best.base is not None:
        reasons.append(f"{best.base} is cached there, so only {format_bytes(best.fetch_bytes)} must be fetched")
    reasons.append(f"it has {format_bytes(best.free_bytes)} free")
    seconds = expected_seconds(best.fetch_bytes, best.bytes_per_second)
    if seconds is not None and best.bytes_per_second is not None:
        known = "measured" if best.is_measured else "its link is set to"
        rate = format_rate(best.bytes_per_second)
        reasons.append(f"about {format_seconds(seconds)} from the lake at the {rate} {known}")
    if (best.tier_throughput, best.tier_price) != (1.0, 1.0):
        reasons.append(f"tier {best.tier}: {best.tier_throughput:g} × the throughput, {best.tier_price:g} × the price")
    reasons += [f"{one.name} is caching it, but is delayed: {one.held_up}" for one in others if one.held_up]
    if others and not others[0].is_there:
        reasons.append(_compared(best, others[0], usual))
    return tuple(reasons)


def _compared(best: VolumeCandidate, next_best: VolumeCandidate, usual: float) -> str:
    """The reason against the second choice, in one sentence."""
    if next_best.evicts and not best.evicts:
        return f"{next_best.name}, the next best, would have to evict {next_best.evicts} first"
    if _rank(best, usual)[:3] == _rank(next_best, usual)[:3]:
        if best.base is not None and next_best.base is None:
            return f"{next_best.name} takes no longer, but has no commit to link from"
        return f"{next_best.name} would do as well, but has no more free space"
    mine, its = (format_seconds(_weight(one, usual)) for one in (best, next_best))
    return f"time to fill × price ÷ throughput: {mine} here, {its} on {next_best.name}, the next best"
