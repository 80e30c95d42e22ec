"""Frees space on a volume: evicts cached commits one by one until a condition holds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable

from millpond.decide.stock import Room, Stock, StockedCommit, linking, shares_of
from millpond.model.cached_state import CachedState
from millpond.model.volume import Share


class SpaceAccount:
    """Space of a volume while a plan is made. Commits being evicted count as gone."""

    def __init__(self, stock: Stock) -> None:
        self._project = stock.project_of
        self._shares = shares_of(stock)
        self._left = [set(share.members) for share in self._shares]
        self._of: dict[str, list[int]] = defaultdict(list)
        for number, share in enumerate(self._shares):
            for member in share.members:
                self._of[member].append(number)
        self._share_with_unmeasured(stock)
        self.used = Room()
        self.used_by: dict[str, Room] = defaultdict(Room)
        for share in self._shares:
            self._count(share, +1)
        # Those whose going, together with others, has given something back.
        self._useful: set[str] = set()
        for one in stock.held:
            if one.state is CachedState.EVICTING:
                self.let_go(one.id)

    def let_go(self, held_id: str) -> Room:
        """Evict a commit; return the space freed, given those evicted before it."""
        before = self.used
        for number in self._of[held_id]:
            if held_id not in self._left[number]:
                continue
            self._left[number].discard(held_id)
            if not self._left[number]:
                self._count(self._shares[number], -1)
                self._useful |= self._shares[number].members
        return before - self.used

    def make_room(self, candidates: Iterable[StockedCommit], enough: Callable[[], bool]) -> list[StockedCommit]:
        """Evict in order until there is enough space; everything evictable if there never is.

        A commit that frees nothing, because others share all its files, stays.
        """
        gone: list[StockedCommit] = []
        for candidate in candidates:
            if enough():
                break
            self.let_go(candidate.id)
            gone.append(candidate)
        for one in gone:
            if one.id not in self._useful:
                for number in self._of[one.id]:
                    self._left[number].add(one.id)
        return [one for one in gone if one.id in self._useful]

    def _share_with_unmeasured(self, stock: Stock) -> None:
        """An unmeasured commit may share all files of its base: those are freed only when both are gone."""
        for one in linking(stock, leaving=True):
            for number in self._of[one.base_id or ""]:
                self._left[number].add(one.id)
                self._of[one.id].append(number)

    def _count(self, share: Share, sign: int) -> None:
        room = Room(sign * share.bytes, sign * share.inodes)
        self.used += room
        # Files are shared within a project only.
        self.used_by[self._project[next(iter(share.members))]] += room
