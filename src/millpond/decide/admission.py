"""Whether a commit may be filled on a volume, decided before its first byte, and which fills may start now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from millpond.decide.eviction import Evict, Held, least_recently_used
from millpond.model.quantity import format_bytes
from millpond.model.volume import CachedState


@dataclass(frozen=True, slots=True)
class Space:
    """A volume's numbers. `disk_free_bytes` is what its agent measured, None before it looked."""

    name: str
    capacity_bytes: int
    reserve_bytes: int
    disk_free_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Admit:
    """Yes, once `evict` is gone."""

    evict: tuple[Evict, ...]
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Refuse:
    reasons: tuple[str, ...]
    # What stands in the way, one sentence each.
    blockers: tuple[str, ...]


def usable_bytes(space: Space, held: Sequence[Held]) -> int:
    """What cached commits may take: capacity, or less where foreign files fill the disk, without the reserve."""
    limit = space.capacity_bytes
    if space.disk_free_bytes is not None:
        limit = min(limit, _on_disk(held) + space.disk_free_bytes)
    return max(0, limit - space.reserve_bytes)


def admit(space: Space, held: Sequence[Held], name: str, needed: int) -> Admit | Refuse:
    """`held` are the volume's commits without the one asked for. What is leaving already counts as gone."""
    usable = usable_bytes(space, held)
    free = usable - sum(h.reserved_bytes for h in held if h.state in (CachedState.READY, CachedState.FILLING))
    size = f"{name} takes {format_bytes(needed)}"
    if needed <= free:
        return Admit((), (f"{size}; {format_bytes(free)} of {space.name} are free",))
    # Those who see what is evicted may not see what comes: its name stays out of the reason.
    reason = "makes room for another commit"
    evict: list[Evict] = []
    for candidate in least_recently_used(held):
        evict.append(Evict(candidate.id, reason))
        free += candidate.reserved_bytes
        if needed <= free:
            reasons = (size, f"{len(evict)} unused cached commits make room on {space.name}")
            return Admit(tuple(evict), reasons)
    return Refuse((size, _most(space, usable, free)), tuple(_blocker(h) for h in held if not h.may_go and _counts(h)))


def fills_to_start(usable: int, held: Sequence[Held]) -> tuple[str, ...]:
    """The waiting fills that may write now, in the order they were asked for.

    One that was admitted against an eviction waits until those bytes are gone, and none overtakes another: so what
    has been begun never has to stop.
    """
    used = used_bytes(held)
    started: list[str] = []
    for fill in sorted((h for h in held if h.is_waiting), key=lambda h: (h.requested_at, h.id)):
        used += fill.reserved_bytes
        if used > usable:
            break
        started.append(fill.id)
    return tuple(started)


def used_bytes(held: Sequence[Held]) -> int:
    """What is on the volume or may be written there now; fills that wait are not."""
    return sum(h.reserved_bytes for h in held if h.state is not CachedState.FAILED and not h.is_waiting)


def _on_disk(held: Sequence[Held]) -> int:
    whole = sum(h.reserved_bytes for h in held if h.state in (CachedState.READY, CachedState.EVICTING))
    return whole + sum(min(h.done_bytes, h.reserved_bytes) for h in held if h.state is CachedState.FILLING)


def _counts(held: Held) -> bool:
    return held.state in (CachedState.READY, CachedState.FILLING)


def _most(space: Space, usable: int, free: int) -> str:
    text = f"{space.name} can give {format_bytes(max(0, free))} of its {format_bytes(usable)}"
    if usable < space.capacity_bytes - space.reserve_bytes:
        text += f" (its capacity is {format_bytes(space.capacity_bytes)}, but the disk is filled by other files)"
    return text


def _blocker(held: Held) -> str:
    size = format_bytes(held.reserved_bytes)
    if held.leased_by:
        return f"{held.name} ({size}) is in use by {', '.join(held.leased_by)}"
    if held.pinned:
        return f"{held.name} ({size}) is pinned"
    return f"{held.name} ({size}) is being filled"
