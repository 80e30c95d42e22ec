"""Decides whether a commit may be filled on a volume, before its first byte, and which fills may start now."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from millpond.decide.account import SpaceAccount
from millpond.decide.eviction import Evict
from millpond.decide.stock import (
    Room,
    Stock,
    StockedCommit,
    evictable,
    needed_bases,
    on_disk,
    project_rooms,
    rooms,
    shares_of,
    used_room,
)
from millpond.model.cached_state import CachedState
from millpond.model.quantity import format_bytes, format_count
from millpond.model.volume import Cause

# How many of those in the way are named.
_NAMED = 10


@dataclass(frozen=True, slots=True)
class VolumeSpace:
    """A volume's numbers. Measurements are None until the agent has reported; inodes are None without a limit."""

    name: str
    capacity_bytes: int
    reserve_bytes: int
    disk_free_bytes: int | None = None
    disk_total_bytes: int | None = None
    inodes_total: int | None = None
    inodes_free: int | None = None
    # Of evicted commits, what could not be removed yet.
    leftover_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Asked:
    """A commit to fill: what the file system will allocate for it, given that it links from `base_id`.

    Or a workspace, with the size that is reserved for it.
    """

    name: str
    needed: Room
    project_id: str = ""
    base_id: str | None = None
    noun: str = "commit"


@dataclass(frozen=True, slots=True)
class Admit:
    """Accepted, once `evict` has been evicted."""

    evict: tuple[Evict, ...]
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Refuse:
    reasons: tuple[str, ...]
    # What stands in the way, one sentence each, the largest first.
    blockers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Usable:
    """Space that cached commits may use. Inodes are None without a limit."""

    bytes: int
    inodes: int | None = None

    def holds(self, room: Room) -> bool:
        return room.bytes <= self.bytes and (self.inodes is None or room.inodes <= self.inodes)


def usable_room(space: VolumeSpace, stock: Stock) -> Usable:
    """Capacity, or less if other files fill the disk, minus the reserve; inodes have the same share reserved."""
    limit, there = space.capacity_bytes - space.leftover_bytes, on_disk(stock)
    if space.disk_free_bytes is not None:
        limit = min(limit, there.bytes + space.disk_free_bytes)
    inodes = None
    if space.inodes_free is not None and space.inodes_total:
        inodes = max(0, there.inodes + space.inodes_free - reserved_inodes(space))
    return Usable(max(0, limit - space.reserve_bytes), inodes)


def reserved_inodes(space: VolumeSpace) -> int:
    """Inodes reserved, in the same proportion as bytes."""
    return (space.inodes_total or 0) * space.reserve_bytes // max(1, space.capacity_bytes)


def foreign_bytes(space: VolumeSpace, stock: Stock) -> int | None:
    """Bytes of other files on the volume's disk: measured use minus ours. None before the first measurement."""
    if space.disk_total_bytes is None or space.disk_free_bytes is None:
        return None
    ours = on_disk(stock).bytes + space.leftover_bytes
    return max(0, space.disk_total_bytes - space.disk_free_bytes - ours)


def admit(space: VolumeSpace, stock: Stock, asked: Asked) -> Admit | Refuse:
    """Admit or refuse. `stock` excludes the commit itself. Commits being evicted count as gone; a base stays."""
    account, usable = SpaceAccount(stock), usable_room(space, stock)
    candidates = evictable(stock, besides=[asked.base_id] if asked.base_id else [])
    limit = stock.limits.get(asked.project_id)

    def is_within_limit() -> bool:
        return limit is None or account.used_by[asked.project_id].bytes + asked.needed.bytes <= limit

    def is_enough() -> bool:
        return usable.holds(account.used + asked.needed)

    size = f"{asked.name} takes {format_bytes(asked.needed.bytes)}"
    free = max(0, usable.bytes - account.used.bytes)
    own = [one for one in candidates if one.project_id == asked.project_id]
    evict = [_evict(one, Cause.LIMIT, asked) for one in account.make_room(own, is_within_limit)]
    if not is_within_limit():
        blockers = _blockers(stock, asked, asked.project_id) if asked.needed.bytes <= (limit or 0) else ()
        return Refuse((size, _limited(space, account, asked, limit or 0)), blockers)
    gone = {one.id for one in evict}
    rest = (one for one in candidates if one.id not in gone)
    evict += [_evict(one, Cause.ROOM, asked) for one in account.make_room(rest, is_enough)]
    if not is_enough():
        # What would not fit alone is in nobody's way.
        blockers = _blockers(stock, asked) if usable.holds(asked.needed) else ()
        return Refuse((size, _most(space, usable, account.used, asked.needed)), blockers)
    if not evict:
        return Admit((), (f"{size}; {space.name} has {format_bytes(free)} free",))
    commits = format_count(len(evict), "unused cached commit")
    return Admit(tuple(evict), (size, f"evicting {commits} makes space on {space.name}"))


def fills_to_start(usable: Usable, stock: Stock) -> tuple[str, ...]:
    """The waiting fills that may start now, in the order they were requested.

    A fill admitted against an eviction waits until those bytes are freed, and none overtakes another, so a started
    fill never has to stop. One that waits for its project's limit keeps its space and does not block others.
    """
    used, used_by = used_room(stock), project_rooms(stock)
    started: list[str] = []
    for fill in sorted((one for one in stock.held if one.is_waiting), key=lambda one: (one.requested_at, one.id)):
        room = Room(fill.reserved_bytes, fill.reserved_inodes)
        used += room
        if not usable.holds(used):
            break
        used_by[fill.project_id] += room
        if used_by[fill.project_id].bytes <= stock.limits.get(fill.project_id, used_by[fill.project_id].bytes):
            started.append(fill.id)
    return tuple(started)


def workspaces_to_start(usable: Usable, stock: Stock) -> tuple[str, ...]:
    """The waiting workspaces that may be made now, in the order they were requested: what had to go is gone."""
    waiting = [one for one in stock.workspaces if one.is_waiting]
    used = used_room(stock) - Room(sum(one.reserved_bytes for one in waiting))
    started: list[str] = []
    for one in waiting:
        used += Room(one.reserved_bytes)
        if not usable.holds(used):
            break
        started.append(one.id)
    return tuple(started)


def why_stays(held: StockedCommit, bases: Collection[str]) -> str | None:
    """Why a cached commit cannot be evicted; None if it can. `bases` are those that fills link from."""
    if held.leased_by:
        return f"in use by {', '.join(held.leased_by)}"
    if held.pinned:
        return f"pinned by {held.pinned_by}" if held.pinned_by else "pinned"
    if held.kept_for:
        is_mirror = held.kept_for.startswith("mirror ")
        return f"kept here by {held.kept_for}" if is_mirror else f"kept here as the newest commit of {held.kept_for}"
    if held.state is CachedState.FILLING:
        return "being filled"
    return "used by a fill that links from it" if held.id in bases else None


def _evict(held: StockedCommit, cause: Cause, asked: Asked) -> Evict:
    # Those who see what is evicted may not see what comes: its name stays out of the reason.
    within = " within its project's limit" if cause is Cause.LIMIT else ""
    return Evict(held.id, f"evicted to make space for {_another(asked)}{within}", cause)


def _another(asked: Asked) -> str:
    return "another commit" if asked.noun == "commit" else f"a {asked.noun}"


def _limited(space: VolumeSpace, account: SpaceAccount, asked: Asked, limit: int) -> str:
    if asked.needed.bytes > limit:
        return f"its project may use {format_bytes(limit)} of {space.name} in total"
    used = format_bytes(account.used_by[asked.project_id].bytes)
    return f"its project may use {format_bytes(limit)} of {space.name}, and {used} of that cannot be evicted"


def _most(space: VolumeSpace, usable: Usable, used: Room, needed: Room) -> str:
    if used.bytes + needed.bytes <= usable.bytes and usable.inodes is not None:
        more = max(0, usable.inodes - used.inodes)
        return f"it has {needed.inodes:,} files and directories, but {space.name} can hold only {more:,} more (inodes)"
    most, free = format_bytes(usable.bytes), format_bytes(max(0, usable.bytes - used.bytes))
    text = f"{space.name} can free {free} of its {most}"
    if needed.bytes > usable.bytes:
        text = f"{space.name} can hold {most} in total"
    within = space.capacity_bytes - space.reserve_bytes - used.bytes - needed.bytes
    if within >= space.leftover_bytes:
        text += f" (its capacity is {format_bytes(space.capacity_bytes)}, but other files fill the disk)"
    elif within >= 0:
        left = format_bytes(space.leftover_bytes)
        text += f" ({left} are taken by evicted commits that may still be open, and by request logs that wait)"
    return text


def _blockers(stock: Stock, asked: Asked, project_id: str | None = None) -> tuple[str, ...]:
    """What uses space and cannot be evicted; of one project only, if its limit is the obstacle."""
    taken, bases = rooms(shares_of(stock)), needed_bases(stock)
    found: list[tuple[int, str, str]] = []
    for one in stock.held:
        reason = why_stays(one, bases)
        if reason and one.state in (CachedState.READY, CachedState.FILLING) and project_id in (None, one.project_id):
            size = taken[one.id].bytes
            written = f" ({format_bytes(size)})" if one.is_known else ""
            found.append((-size if one.is_known else 0, one.name, f"{one.name}{written} is {reason}"))
    for space in (one for one in stock.workspaces if one.reserved_bytes):  # claims take nothing here
        if project_id not in (None, space.project_id):
            continue
        of = f"workspace {space.name}" if space.is_known else "a workspace of another project"
        amount = f"{format_bytes(space.reserved_bytes)} " if space.is_known else ""
        text = f"{amount}reserved for {of}" + (f" of {space.owner}" if space.is_known else "")
        found.append((-space.reserved_bytes if space.is_known else 0, space.name, text))
    named = list(dict.fromkeys(text for _, _, text in sorted(found)))
    more = [f"{len(named) - _NAMED} more"] if len(named) > _NAMED else []
    return (*named[:_NAMED], *more)
