"""Cached commits and workspaces of a volume as decisions see them, and the space each part uses.

Commits of one project share files by hard link: shared bytes count once, and are freed when the last commit that has
them is evicted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from millpond.model.cached_state import CachedState
from millpond.model.volume import Share


@dataclass(frozen=True, slots=True)
class StockedCommit:
    """A cached commit of a volume."""

    id: str
    name: str  # project/dataset@commit, for reasons
    state: CachedState
    # 0 while a fill waits for room: no agent knows of it yet, and nothing of it is on the disk.
    attempt: int
    reserved_bytes: int
    # What a fill has allocated so far, as far as that can be told.
    written_bytes: int
    requested_at: datetime
    used_at: datetime
    # Its own idle time or its dataset's; None: the volume's.
    idle_seconds: int | None = None
    pinned: bool = False
    leased_by: tuple[str, ...] = ()
    project_id: str = ""
    reserved_inodes: int = 0
    written_inodes: int = 0
    pinned_by: str | None = None
    # The branch whose newest commit this is, where a policy keeps that here.
    kept_for: str | None = None
    # The cached commit whose files it links. That one stays until this one is whole and measured.
    base_id: str | None = None
    # What bringing it back would take. Only breaks ties.
    cost: float = 0.0
    # Whether the one who asks may know of it: of others' commits no sizes are told.
    is_known: bool = True

    @property
    def is_waiting(self) -> bool:
        return self.state is CachedState.FILLING and self.attempt == 0

    @property
    def may_go(self) -> bool:
        """True if the commit is complete and not in use. Running fills are never evicted."""
        return self.state is CachedState.READY and not self.pinned and not self.leased_by and not self.kept_for


@dataclass(frozen=True, slots=True)
class StockedWorkspace:
    """A workspace of a volume: its size is its own from when it was asked for, whatever it has written of it."""

    id: str
    name: str  # project/workspace, for reasons
    project_id: str
    owner: str
    reserved_bytes: int
    # What lies on the disk of it, with its near snapshots.
    written_bytes: int = 0
    # No agent knows of it yet: what it was admitted against is still being evicted.
    is_waiting: bool = False
    is_known: bool = True


@dataclass(frozen=True, slots=True)
class Room:
    """Space on a file system: allocated bytes, and number of files and directories."""

    bytes: int = 0
    inodes: int = 0

    def __add__(self, other: Room) -> Room:
        return Room(self.bytes + other.bytes, self.inodes + other.inodes)

    def __sub__(self, other: Room) -> Room:
        return Room(self.bytes - other.bytes, self.inodes - other.inodes)


@dataclass(frozen=True, slots=True)
class Stock:
    """All cached commits and workspaces of a volume, measured sizes, and limits of projects."""

    held: Sequence[StockedCommit] = ()
    measured: Sequence[Share] = ()
    limits: Mapping[str, int] = field(default_factory=dict)  # bytes by project id
    workspaces: Sequence[StockedWorkspace] = ()

    def without(self, held_id: str | None) -> Stock:
        return replace(
            self,
            held=[one for one in self.held if one.id != held_id],
            workspaces=[one for one in self.workspaces if one.id != held_id],
        )

    @property
    def project_of(self) -> dict[str, str]:
        """The project of each cached commit and workspace, by id."""
        commits = {one.id: one.project_id for one in self.held}
        return commits | {one.id: one.project_id for one in self.workspaces}


def shares_of(stock: Stock) -> list[Share]:
    """Space used or promised, each shared piece once.

    Complete commits count as measured; all others with what was reserved for them.
    """
    whole = {one.id for one in stock.held if one.state in (CachedState.READY, CachedState.EVICTING)}
    found = [
        Share(members, share.bytes, share.inodes) for share in stock.measured if (members := share.members & whole)
    ]
    measured = measured_ids(found)
    for one in stock.held:
        if one.id not in measured and one.state is not CachedState.FAILED:
            found.append(Share(frozenset((one.id,)), one.reserved_bytes, one.reserved_inodes))
    found += [Share(frozenset((one.id,)), one.reserved_bytes) for one in stock.workspaces]
    return found


def measured_ids(shares: Iterable[Share]) -> set[str]:
    return {member for share in shares for member in share.members}


def room_of(shares: Iterable[Share]) -> Room:
    """Total space of these pieces."""
    total = Room()
    for share in shares:
        total += Room(share.bytes, share.inodes)
    return total


def freed_by(shares: Iterable[Share], gone: Collection[str]) -> Room:
    """Space freed by evicting exactly these: the pieces no other commit has."""
    return room_of(share for share in shares if share.members.issubset(gone))


def rooms(shares: Iterable[Share]) -> Mapping[str, Room]:
    """Space of each cached commit, including what it shares."""
    found: dict[str, Room] = defaultdict(Room)
    for share in shares:
        for member in share.members:
            found[member] += Room(share.bytes, share.inodes)
    return found


def on_disk(stock: Stock) -> Room:
    """Space on disk now: complete commits, those being evicted, and what fills and workspaces have written."""
    whole = {one.id for one in stock.held if one.state in (CachedState.READY, CachedState.EVICTING)}
    shares = [share for share in shares_of(stock) if not share.members.isdisjoint(whole)]
    filling = [one for one in stock.held if one.state is CachedState.FILLING and not one.is_waiting]
    written = Room(
        sum(min(one.written_bytes, one.reserved_bytes) for one in filling),
        sum(min(one.written_inodes, one.reserved_inodes) for one in filling),
    )
    made = sum(min(one.written_bytes, one.reserved_bytes) for one in stock.workspaces)
    return room_of(shares) + written + Room(made)


def used_room(stock: Stock) -> Room:
    """Space used or being written now, without waiting fills."""
    waiting = {one.id for one in stock.held if one.is_waiting}
    return room_of(share for share in shares_of(stock) if waiting.isdisjoint(share.members))


def project_rooms(stock: Stock) -> dict[str, Room]:
    """Space used per project."""
    project = stock.project_of
    waiting = {one.id for one in stock.held if one.is_waiting}
    found: dict[str, Room] = defaultdict(Room)
    for share in shares_of(stock):
        if waiting.isdisjoint(share.members):
            found[project[next(iter(share.members))]] += Room(share.bytes, share.inodes)
    return found


def evictable(stock: Stock, *, besides: Collection[str] = ()) -> list[StockedCommit]:
    """Evictable commits in order: least recently used first; ties: the cheapest to fetch again."""
    stays = needed_bases(stock) | set(besides)
    found = [one for one in stock.held if one.may_go and one.id not in stays]
    return sorted(found, key=lambda one: (one.used_at, one.cost, one.id))


def needed_bases(stock: Stock) -> set[str]:
    """Bases of fills, running or not measured since: evicting them would free less than it seems."""
    return {one.base_id for one in linking(stock) if one.base_id is not None}


def linking(stock: Stock, *, leaving: bool = False) -> list[StockedCommit]:
    """Commits that link files of another and were not measured since, so that the shared size is unknown.

    In the order of requests, so that bases come first; `leaving`: include those being evicted, which still have
    the files.
    """
    measured = measured_ids(stock.measured)
    whole = {CachedState.READY, CachedState.EVICTING} if leaving else {CachedState.READY}
    found = [
        one
        for one in stock.held
        if one.base_id is not None
        and (one.state is CachedState.FILLING or (one.state in whole and one.id not in measured))
        and (one.reserved_bytes or one.reserved_inodes)  # of a fill that failed nothing is there
    ]
    return sorted(found, key=lambda one: (one.requested_at, one.id))
