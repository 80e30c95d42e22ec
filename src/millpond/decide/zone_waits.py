"""How long a job would wait for room in a zone: none, until time limits make room, or nobody can tell."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from functools import cached_property

from millpond.decide.scheduling.reservation import expected_start
from millpond.decide.scheduling.room import Room
from millpond.decide.scheduling.snapshot import Node, Running, Size


class ZoneWaits:
    """The nodes of one moment with what runs there. Answers are kept: jobs of one class ask the same."""

    def __init__(self, nodes: Iterable[Node], running: Iterable[Running], now: float) -> None:
        self._nodes, self._now = tuple(nodes), now
        self._running = {one.job.id: one for one in running}
        self._able: dict[tuple[str, Size, frozenset[str], bool], bool] = {}
        self._known: dict[tuple[str, Size, frozenset[str]], float | None] = {}

    @cached_property
    def _rooms(self) -> dict[str, list[Room]]:
        rooms = {node.id: Room(node, order) for order, node in enumerate(self._nodes)}
        for one in self._running.values():
            for seat in one.seats:
                if seat.node in rooms:
                    rooms[seat.node].hold(one.job.id, one.job.size, seat.gpu_ids)
        zones: dict[str, list[Room]] = defaultdict(list)
        for room in rooms.values():
            zones[room.node.zone].append(room)
        return zones

    def could_run(self, zone: str, size: Size, requires: frozenset[str], *, now: bool = False) -> bool:
        """True if an empty node there could take one process of it; `now`: one that takes new jobs."""
        key = (zone, size, requires, now)
        if key not in self._able:
            self._able[key] = any(
                requires <= room.node.offers and room.fits_empty(size) and (room.node.open or not now)
                for room in self._rooms[zone]
            )
        return self._able[key]

    def wait(self, zone: str, size: Size, requires: frozenset[str]) -> float | None:
        """Seconds until there is room for it; None if nobody can tell."""
        key = (zone, size, requires)
        if key not in self._known:
            self._known[key] = self._find(zone, size, requires)
        return self._known[key]

    def _find(self, zone: str, size: Size, requires: frozenset[str]) -> float | None:
        rooms = [room for room in self._rooms[zone] if room.node.open and requires <= room.node.offers]
        if size.processes:
            return 0.0 if _gang_fits(rooms, size) else None
        soonest: float | None = None
        for room in rooms:
            if not room.fits_empty(size):
                continue
            start = expected_start(room, size, self._running, self._now)
            if start is not None and start <= self._now:
                return 0.0
            if start is not None and (soonest is None or start < soonest):
                soonest = start
        return None if soonest is None else soonest - self._now


def _gang_fits(rooms: Iterable[Room], size: Size) -> bool:
    counts: dict[str, int] = defaultdict(int)
    for room in rooms:
        counts[room.node.compute] += room.count(size, size.processes)
    return any(count >= size.processes for count in counts.values())
