"""The nodes of one pool while a plan is made: where a job fits now, and where it could fit at all."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import cache

from millpond.decide.scheduling.room import Room, ZoneIndex
from millpond.decide.scheduling.snapshot import Node, Pending, Place, Running, Seat, Size

Allowed = Callable[[Room], bool]


class Shape:
    """What a job asks of nodes: jobs of equal shape share one value, so it is compared by identity."""

    __slots__ = ("fit", "gpus", "requires", "size", "tiers", "zones")

    def __init__(self, size: Size, requires: frozenset[str], places: tuple[Place, ...] | None, fit: Fit) -> None:
        self.size, self.requires, self.gpus, self.fit = size, requires, size.gpus, fit
        # The zones of equal cost, the cheapest first; None: all zones.
        self.tiers = None if places is None else _tiers(places)
        self.zones = None if places is None else frozenset(place.zone for place in places)


class Fit:
    """A size and its requirements, whatever its places, and what is known of them: when they last fitted nowhere."""

    __slots__ = ("full", "gpus")

    def __init__(self, size: Size) -> None:
        self.gpus = size.gpus
        # By whether nodes are elastic; the value of `grown` then.
        self.full = {False: -1, True: -1}


# Rooms and how many processes go to each.
Spread = list[tuple[Room, int]]


class Fleet:
    """Rooms by node, indexed for the tightest fit. A job goes to fixed nodes, or to elastic ones, never to both."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        ordered = sorted(nodes, key=lambda node: (node.zone, node.compute, node.id))
        self.rooms = {node.id: Room(node, order) for order, node in enumerate(ordered)}
        self._ordered = list(self.rooms.values())
        self._zones: dict[tuple[str, bool], ZoneIndex] = defaultdict(ZoneIndex)
        self._computes: dict[str, list[Room]] = defaultdict(list)
        for room in self.rooms.values():
            if room.node.open:
                self._zones[room.node.zone, room.elastic].add(room)
                self._computes[room.node.compute].append(room)
        self.has_elastic = any(node.elastic for node in ordered)
        self._names = tuple(sorted({node.zone for node in ordered}))
        # Counts how often room has come back: what did not fit before may fit since.
        self.grown = 0
        self._shapes: dict[tuple[Size, frozenset[str], tuple[Place, ...] | None], Shape] = {}
        self._fits: dict[tuple[Size, frozenset[str]], Fit] = {}
        self._able = cache(self._find_able)

    def hold(self, job_id: str, size: Size, seats: Sequence[Seat]) -> None:
        for seat in seats:
            room = self.rooms.get(seat.node)
            if room is not None:
                room.hold(job_id, size, seat.gpu_ids)
                self._changed(room)

    def take(self, job_id: str, size: Size, spread: Spread) -> tuple[Seat, ...]:
        seats = []
        for room, count in spread:
            seats += [room.take(job_id, size) for _ in range(count)]
            self._changed(room)
        return tuple(seats)

    def release(self, job_id: str, seats: Sequence[Seat]) -> None:
        for node in dict.fromkeys(seat.node for seat in seats):
            room = self.rooms.get(node)
            if room is not None and job_id in room.holds:
                room.release(job_id)
                self._changed(room)
        self.grown += 1

    def are_free(self, running: Running) -> bool:
        """Whether a job that was stopped would find every seat free that it had."""
        size = running.job.size
        rooms = {seat.node: self.rooms[seat.node].freed_by(()) for seat in running.seats if seat.node in self.rooms}
        for seat in running.seats:
            room = rooms.get(seat.node)
            if room is None or not room.has_free(size, seat.gpu_ids):
                return False
            room.hold(running.job.id, size, seat.gpu_ids)
        return True

    def shape(self, wanted: Pending) -> Shape:
        size, requires, places = wanted.job.size, wanted.requires, wanted.places
        found = self._shapes.get((size, requires, places))
        if found is None:
            fit = self._fits.setdefault((size, requires), Fit(size))
            found = self._shapes[size, requires, places] = Shape(size, requires, places, fit)
        return found

    def find(self, shape: Shape, allowed: Allowed, *, elastic: bool = False, only_cpu: bool = False) -> Spread | None:
        """Where it fits now: the cheapest zones first; of equal ones the tightest fit; for gangs the fewest nodes."""
        if self.is_full(shape.fit, elastic=elastic):
            return None
        size, requires = shape.size, shape.requires
        rooms: set[int] = set()

        def suits(room: Room) -> bool:
            if not (requires <= room.node.offers and room.fits(size)):
                return False
            rooms.add(room.order)
            return allowed(room)

        for zones in (self._names,) if shape.tiers is None else shape.tiers:
            if size.processes:
                found = self._gang(size, zones, suits, elastic)
            else:
                found = self._tightest(size, zones, suits, elastic, only_cpu=only_cpu)
            if found:
                return found
        if not only_cpu and self.is_everywhere(shape) and not self._would_fit(size, rooms):
            # Whatever is reserved, it fits nowhere: nor does any other job of its size, until room comes back.
            shape.fit.full[elastic] = self.grown
        return None

    def is_everywhere(self, shape: Shape) -> bool:
        """True if the job may run in all zones, at whatever cost."""
        return shape.zones is None or len(shape.zones) >= len(self._names)

    def is_full(self, fit: Fit, *, elastic: bool = False) -> bool:
        """True if it is known that this size fits nowhere now."""
        return fit.full[elastic] == self.grown

    def _would_fit(self, size: Size, orders: set[int]) -> bool:
        """True if the job would fit into these rooms, each of which has room for a process, if it might use all."""
        if not size.processes:
            return bool(orders)
        counts: dict[str, int] = defaultdict(int)
        for order in orders:
            room = self._ordered[order]
            counts[room.node.compute] += room.count(size, size.processes)
        return any(count >= size.processes for count in counts.values())

    def is_able(self, shape: Shape) -> bool:
        """Whether it would fit into open nodes if they were empty."""
        return self._able(shape.size, shape.requires, shape.zones)

    def open_rooms(self, zones: frozenset[str] | None) -> Iterable[Room]:
        """Fixed ones that take new jobs, in order."""
        names = self._names if zones is None else sorted(zones)
        for name in names:
            index = self._zones.get((name, False))
            if index is not None:
                yield from index.rooms.values()

    def computes(self, zones: frozenset[str] | None, *, elastic: bool = False) -> Iterable[tuple[str, list[Room]]]:
        """The open nodes of each compute with nodes in these zones: gangs do not span computes."""
        for name, rooms in self._computes.items():
            inside = [room for room in rooms if room.elastic == elastic and (zones is None or room.node.zone in zones)]
            if inside:
                yield name, inside

    def _tightest(
        self, size: Size, zones: tuple[str, ...], suits: Allowed, elastic: bool, *, only_cpu: bool
    ) -> Spread | None:
        best: tuple[int, int] | None = None
        chosen: Room | None = None
        for zone in zones:
            index = self._zones.get((zone, elastic))
            if index is None:
                continue
            for tightness, orders in index.best_fit(size.gpu):
                if (best is not None and tightness > best[0]) or (only_cpu and tightness >= 0):
                    break
                order = next((order for order in orders if suits(index.rooms[order])), None)
                if order is not None:
                    if best is None or (tightness, order) < best:
                        best, chosen = (tightness, order), index.rooms[order]
                    break
        return None if chosen is None else [(chosen, 1)]

    def _gang(self, size: Size, zones: tuple[str, ...], suits: Allowed, elastic: bool) -> Spread | None:
        suiting: dict[str, dict[int, Room]] = defaultdict(dict)
        for zone in zones:
            index = self._zones.get((zone, elastic))
            for _, orders in () if index is None else index.best_fit(size.gpu):
                for room in map(self._ordered.__getitem__, orders):
                    if suits(room):
                        suiting[room.node.compute][room.order] = room
        found = []
        for name, rooms in suiting.items():
            counts = [(room, room.count(size, size.processes)) for room in rooms.values()]
            if sum(count for _, count in counts) >= size.processes:
                spread = fill_up(counts, size.processes)
                found.append((len(spread or ()), name, spread))
        return min(found, key=lambda one: one[:2])[2] if found else None

    def _find_able(self, size: Size, requires: frozenset[str], zones: frozenset[str] | None) -> bool:
        for elastic in (False, True):
            for _, rooms in self.computes(zones, elastic=elastic):
                able = [room for room in rooms if requires <= room.node.offers and room.fits_empty(size)]
                if able and (not size.processes or sum(_empty_count(room, size) for room in able) >= size.processes):
                    return True
        return False

    def _changed(self, room: Room) -> None:
        if room.node.open:
            self._zones[room.node.zone, room.elastic].update(room)


def fill_up(counts: Iterable[tuple[Room, int]], processes: int) -> Spread | None:
    """All processes over as few rooms as possible, the roomiest first; None where there is not room for all."""
    left, spread = processes, []
    for room, count in sorted(counts, key=lambda one: (-one[1], one[0].order)):
        if not left or not count:
            break
        spread.append((room, min(left, count)))
        left -= min(left, count)
    return None if left else spread


def _empty_count(room: Room, size: Size) -> int:
    return Room(room.node, room.order).count(size, size.processes)


@cache
def _tiers(places: tuple[Place, ...]) -> Sequence[tuple[str, ...]]:
    by_cost: dict[int, list[str]] = defaultdict(list)
    for place in places:
        by_cost[place.cost].append(place.zone)
    return tuple(tuple(sorted(by_cost[cost])) for cost in sorted(by_cost))
