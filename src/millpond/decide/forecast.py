"""Forecasts evictions of a volume, with time and reason, if nothing is used until then."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from millpond.decide.account import SpaceAccount
from millpond.decide.admission import why_stays
from millpond.decide.eviction import VolumeLimits, idle_limit, plan_evictions
from millpond.decide.stock import Stock, evictable, needed_bases, rooms, shares_of
from millpond.model.cached_state import CachedState
from millpond.model.quantity import format_seconds
from millpond.model.volume import Cause


@dataclass(frozen=True, slots=True)
class Step:
    """One cached commit. `at`: when it is evicted, None if it stays. `bytes`: what that frees, or its size."""

    id: str
    at: datetime | None
    cause: Cause | None
    reason: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Forecast:
    goes: tuple[Step, ...]
    stays: tuple[Step, ...]


def forecast(limits: VolumeLimits, stock: Stock, now: datetime) -> Forecast:
    """Commits being evicted, those of the next round, those that become idle, in this order; then those that stay."""
    account = SpaceAccount(stock)
    goes = [
        Step(one.id, now, None, "being evicted", one.reserved_bytes)
        for one in stock.held
        if one.state is CachedState.EVICTING
    ]
    for evict in plan_evictions(limits, stock, now):
        goes.append(Step(evict.id, now, evict.cause, evict.reason, account.let_go(evict.id).bytes))
    gone = {step.id for step in goes}
    later = [(one.used_at + timedelta(seconds=idle_limit(limits, one)), one) for one in evictable(stock)]
    for at, one in sorted((pair for pair in later if pair[1].id not in gone), key=lambda pair: (pair[0], pair[1].id)):
        reason = f"unused for {format_seconds(idle_limit(limits, one))} then"
        goes.append(Step(one.id, at, Cause.IDLE, reason, account.let_go(one.id).bytes))
    return Forecast(tuple(goes), _stays(stock, {step.id for step in goes}))


def _stays(stock: Stock, gone: set[str]) -> tuple[Step, ...]:
    taken, bases = rooms(shares_of(stock)), needed_bases(stock)
    return tuple(
        Step(one.id, None, None, why_stays(one, bases) or one.state.value, taken[one.id].bytes)
        for one in sorted(stock.held, key=lambda one: (one.name, one.id))
        if one.id not in gone and one.state in (CachedState.READY, CachedState.FILLING)
    )
