"""What leaves a volume: idle commits, and the least recently used above the high watermark. Pure, with reasons."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from millpond.model.quantity import format_seconds
from millpond.model.volume import CachedState


@dataclass(frozen=True, slots=True)
class Held:
    """One cached commit of a volume, as decisions see it."""

    id: str
    name: str  # project/dataset@commit, for reasons
    state: CachedState
    # 0 while a fill waits for room: no agent knows of it yet, and nothing of it is on the disk.
    attempt: int
    reserved_bytes: int
    done_bytes: int
    requested_at: datetime
    used_at: datetime
    idle_seconds: int | None = None
    pinned: bool = False
    leased_by: tuple[str, ...] = ()

    @property
    def may_go(self) -> bool:
        """Only what is whole and nobody needs; fills are stopped by people, not by this."""
        return self.state is CachedState.READY and not self.pinned and not self.leased_by

    @property
    def is_waiting(self) -> bool:
        return self.state is CachedState.FILLING and self.attempt == 0


@dataclass(frozen=True, slots=True)
class Limits:
    """A volume's numbers. `usable_bytes` is what cached commits may take: the reserve is already off."""

    usable_bytes: int
    idle_seconds: int
    high_percent: int
    low_percent: int


@dataclass(frozen=True, slots=True)
class Evict:
    id: str
    reason: str


def least_recently_used(held: Iterable[Held]) -> list[Held]:
    """What may go, in the order it goes. Ties are broken by id, so that two plans are equal."""
    return sorted((h for h in held if h.may_go), key=lambda h: (h.used_at, h.id))


def plan_evictions(limits: Limits, held: Sequence[Held], now: datetime) -> tuple[Evict, ...]:
    """Idle commits first; then, above the high watermark, the least recently used down to the low one."""
    idle = [_idle(limits, h, now) for h in least_recently_used(held)]
    plan = [evict for evict in idle if evict]
    gone = {evict.id for evict in plan}
    plan.extend(_above_watermark(limits, [h for h in held if h.id not in gone]))
    return tuple(plan)


def idle_limit(limits: Limits, held: Held) -> int:
    return limits.idle_seconds if held.idle_seconds is None else held.idle_seconds


def _idle(limits: Limits, held: Held, now: datetime) -> Evict | None:
    limit = idle_limit(limits, held)
    idle = (now - held.used_at).total_seconds()
    if idle < limit:
        return None
    return Evict(held.id, f"unused for {format_seconds(idle)}; the idle time is {format_seconds(limit)}")


def _above_watermark(limits: Limits, held: Sequence[Held]) -> list[Evict]:
    taken = sum(h.reserved_bytes for h in held if h.state in (CachedState.READY, CachedState.FILLING))
    if taken * 100 <= limits.usable_bytes * limits.high_percent:
        return []
    full = taken * 100 // limits.usable_bytes if limits.usable_bytes else 100
    reason = f"the volume is {full} % full, above its high watermark of {limits.high_percent} %"
    plan: list[Evict] = []
    # The newest stays: evicting what was asked for last would only bring it back.
    for candidate in least_recently_used(held)[:-1]:
        if taken * 100 <= limits.usable_bytes * limits.low_percent:
            break
        plan.append(Evict(candidate.id, reason))
        taken -= candidate.reserved_bytes
    return plan
