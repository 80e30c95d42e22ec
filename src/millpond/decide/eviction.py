"""Plans evictions, with reasons: idle commits, and the least recently used above a limit or watermark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from millpond.decide.account import SpaceAccount
from millpond.decide.stock import Room, Stock, StockedCommit, evictable
from millpond.model.cached_state import CachedState
from millpond.model.quantity import format_bytes, format_seconds
from millpond.model.volume import Cause


@dataclass(frozen=True, slots=True)
class VolumeLimits:
    """A volume's numbers. `usable` is what cached commits may use; the reserve is already subtracted.

    `usable_inodes` is None where the file system has no limit of them.
    """

    usable_bytes: int
    idle_seconds: int
    high_percent: int
    low_percent: int
    usable_inodes: int | None = None


@dataclass(frozen=True, slots=True)
class Evict:
    id: str
    reason: str
    cause: Cause = Cause.CLEARED
    by: str | None = None


def plan_evictions(limits: VolumeLimits, stock: Stock, now: datetime) -> tuple[Evict, ...]:
    """Idle commits first; then what a project has above its limit; then, above the high watermark, down to the low."""
    account = SpaceAccount(stock)
    candidates = evictable(stock)
    plan = [evict for one in candidates if (evict := _idle(limits, one, now))]
    for evict in plan:
        account.let_go(evict.id)
    for step in (_above_limits, _above_watermark):
        gone = {evict.id for evict in plan}
        plan.extend(step(limits, stock, account, [one for one in candidates if one.id not in gone]))
    return tuple(plan)


def leaves_ample_room(limits: VolumeLimits, stock: Stock, more: Room) -> bool:
    """True if the volume stays below its low watermark with so much more on it."""
    return _is_below(limits, SpaceAccount(stock).used + more, limits.low_percent)


def idle_limit(limits: VolumeLimits, held: StockedCommit) -> int:
    return limits.idle_seconds if held.idle_seconds is None else held.idle_seconds


def _idle(limits: VolumeLimits, held: StockedCommit, now: datetime) -> Evict | None:
    limit = idle_limit(limits, held)
    idle = (now - held.used_at).total_seconds()
    if idle < limit:
        return None
    reason = f"unused for {format_seconds(idle)}; the idle time is {format_seconds(limit)}"
    return Evict(held.id, reason, Cause.IDLE)


def _above_limits(
    limits: VolumeLimits, stock: Stock, account: SpaceAccount, candidates: Sequence[StockedCommit]
) -> list[Evict]:
    plan: list[Evict] = []
    for project_id, limit in sorted(stock.limits.items()):

        def is_within(project_id: str = project_id, limit: int = limit) -> bool:
            return account.used_by[project_id].bytes <= limit

        used = format_bytes(account.used_by[project_id].bytes)
        gone = account.make_room((one for one in candidates if one.project_id == project_id), is_within)
        reason = f"its project uses {used}, above its limit of {format_bytes(limit)}"
        plan += [Evict(one.id, reason, Cause.LIMIT) for one in gone]
    return plan


def _above_watermark(
    limits: VolumeLimits, stock: Stock, account: SpaceAccount, candidates: Sequence[StockedCommit]
) -> list[Evict]:
    if _is_below(limits, account.used, limits.high_percent):
        return []
    reason = f"the volume is {_full(limits, account.used)}, above its high watermark of {limits.high_percent} %"
    # What was asked for last stays: evicting it would only bring it back.
    last = _last_asked_for(stock)
    may_go = [one for one in candidates if one is not last]
    gone = account.make_room(may_go, lambda: _is_below(limits, account.used, limits.low_percent))
    return [Evict(one.id, reason, Cause.WATERMARK) for one in gone]


def _last_asked_for(stock: Stock) -> StockedCommit | None:
    """Last request for a commit; now, while it is being filled."""
    there = [one for one in stock.held if one.state in (CachedState.READY, CachedState.FILLING)]
    return max(there, key=lambda one: (one.state is CachedState.FILLING, one.used_at, one.cost, one.id), default=None)


def _is_below(limits: VolumeLimits, used: Room, percent: int) -> bool:
    few_files = limits.usable_inodes is None or used.inodes * 100 <= limits.usable_inodes * percent
    return few_files and used.bytes * 100 <= limits.usable_bytes * percent


def _full(limits: VolumeLimits, used: Room) -> str:
    percent = used.bytes * 100 // limits.usable_bytes if limits.usable_bytes else 100
    if limits.usable_inodes is not None:
        files = used.inodes * 100 // limits.usable_inodes if limits.usable_inodes else 100
        if files > percent:
            return f"{files} % full of files"
    return f"{percent} % full"
