"""Whom to preempt: on each node a set in which nobody could be left out, and of these sets the one that hurts least.

A set is better if its worst-off project is better off, then if less work is lost, then if fewer GPUs stop.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from millpond.decide.scheduling.fleet import Spread, fill_up
from millpond.decide.scheduling.room import Room
from millpond.decide.scheduling.snapshot import Size

# (minus the satisfaction of the worst-off project, lost GPU-seconds, GPUs, order of the node): the lowest is best.
Harm = tuple[float, float, int, int]


class Candidate(NamedTuple):
    """A job that may be preempted. `spare` is what its project can lose in all; None: any amount."""

    job_id: str
    project: str
    gpus: int
    lost: float
    satisfaction: float
    spare: int | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    harm: Harm
    victims: tuple[Candidate, ...]
    spread: Spread


# The candidates on a node, for a taker that is one of these projects (None: whoever it is).
Candidates = Callable[[Room, str | None], list[Candidate]]


class Chooser:
    """Chooses victims on single nodes for many jobs of equal size, looking at each node as rarely as possible.

    Every node has the harm that it would cost whoever the taker is, which is the least it can cost. The taker's own
    jobs are no candidates, so the nodes are looked at in this order until none can be better than the best one found.
    """

    def __init__(self, size: Size, rooms: Iterable[Room], candidates: Candidates) -> None:
        self._size, self._candidates = size, candidates
        self._rooms = {room.order: room for room in rooms}
        self._harms: dict[int, Harm] = {}
        self._heap: list[tuple[Harm, int]] = []
        for room in self._rooms.values():
            self._look(room)
        heapify(self._heap)

    def update(self, room: Room) -> None:
        """Call it for a node on which something changed."""
        if room.order in self._rooms:
            self._harms.pop(room.order, None)
            self._look(room)

    def choose(self, taker: str, allowed: Callable[[Room], bool]) -> Choice | None:
        best: Choice | None = None
        seen: list[tuple[Harm, int]] = []
        while self._heap and (best is None or self._heap[0][0] < best.harm):
            harm, order = heappop(self._heap)
            if self._harms.get(order) != harm:
                continue
            room = self._rooms[order]
            now = least_harm(room, self._size, self._candidates(room, None))
            if now is None or now.harm != harm:
                self._harms.pop(order)
                self._look(room)
                continue
            seen.append((harm, order))
            if allowed(room):
                own = least_harm(room, self._size, self._candidates(room, taker))
                if own is not None and (best is None or own.harm < best.harm):
                    best = own
        for one in seen:
            heappush(self._heap, one)
        return best

    def _look(self, room: Room) -> None:
        found = least_harm(room, self._size, self._candidates(room, None))
        if found is not None:
            self._harms[room.order] = found.harm
            heappush(self._heap, (found.harm, room.order))


def least_harm(room: Room, size: Size, candidates: list[Candidate], processes: int = 1) -> Choice | None:
    """The set of least harm on one node after which so many processes fit; None where there is none.

    Those of the best-off projects are taken first, so that the worst-off victim is as well off as can be; then whoever
    turns out not to be needed is spared, those with the most to lose first.
    """
    if not candidates or not _enough(room, size, candidates, processes):
        return None
    candidates.sort(key=lambda one: (-one.satisfaction, one.lost, one.gpus, one.job_id))
    taken: dict[str, int] = defaultdict(int)
    victims: list[Candidate] = []
    left = room.freed_by(())
    for one in candidates:
        if one.spare is not None and taken[one.project] + one.gpus > one.spare:
            continue
        taken[one.project] += one.gpus
        victims.append(one)
        left.release(one.job_id)
        if left.count(size, processes) >= processes:
            break
    else:
        return None
    # At most this much becomes free: whoever is needed even for that need not be looked at closely.
    most, needed = sum(room.free) + sum(one.gpus for one in victims), size.gpu * processes
    for one in sorted(victims, key=lambda one: (-one.lost, -one.gpus, one.job_id)) if len(victims) > 1 else ():
        if most - one.gpus < needed:
            continue
        others = [other for other in victims if other is not one]
        if room.freed_by([other.job_id for other in others]).count(size, processes) >= processes:
            victims = others
            most -= one.gpus
    return Choice(harm_of(victims, room.order), tuple(victims), [(room, processes)])


def harm_of(victims: Sequence[Candidate], order: int) -> Harm:
    worst = min((one.satisfaction for one in victims), default=float("inf"))
    return (-worst, sum(one.lost for one in victims), sum(one.gpus for one in victims), order)


class GangChooser:
    """Chooses victims on the nodes of one compute, so that all processes of a gang fit; free room is used first.

    What each node could give, whoever the taker is, is found once, and again only when the node changes.
    """

    def __init__(self, size: Size, computes: Iterable[tuple[str, list[Room]]], candidates: Candidates) -> None:
        self._size = size
        self._computes = sorted(computes, key=lambda one: one[0])
        self._candidates = candidates
        # How many processes fit on a node when all candidates are gone.
        self._most: dict[int, int] = {}

    def update(self, room: Room) -> None:
        self._most.pop(room.order, None)

    def choose(self, processes: int, taker: str, allowed: Callable[[Room], bool]) -> Choice | None:
        size = self._size._replace(processes=processes)
        best: Choice | None = None
        for _, rooms in self._computes:
            able = [room for room in rooms if self._could_fit(room) and allowed(room)]
            if sum(self._most[room.order] for room in able) < processes:
                continue
            choice = _choose_for_gang(size, able, lambda room: self._candidates(room, taker))
            if choice is not None and (best is None or choice.harm < best.harm):
                best = choice
        return best

    def _could_fit(self, room: Room) -> int:
        most = self._most.get(room.order)
        if most is None:
            gone = room.freed_by([one.job_id for one in self._candidates(room, None)])
            most = self._most[room.order] = gone.count(self._size, 1 << 30)
        return most


def _choose_for_gang(size: Size, rooms: Sequence[Room], candidates: Callable[[Room], list[Candidate]]) -> Choice | None:
    found: dict[str, Candidate] = {}
    spare: dict[str, int] = {}
    free = {room: room.count(size, size.processes) for room in rooms}
    missing = size.processes - sum(free.values())
    options = sorted(
        (option for room in rooms for option in _options(room, size, free[room], candidates)),
        key=lambda option: (option[1].harm[0], option[1].harm[1] / option[0], option[1].harm[2:]),
    )
    gained: dict[Room, int] = defaultdict(int)
    for more, option in options:
        room = option.spread[0][0]
        if missing <= 0:
            break
        victims = [one for one in option.victims if one.job_id not in found]
        if more <= gained[room] or not _spared(victims, spare):
            continue
        missing -= more - gained[room]
        gained[room] = more
        found.update({one.job_id: one for one in victims})
    if missing > 0:
        return None
    kept = _without_needless(size, rooms, list(found.values()))
    spread = fill_up(((room, after(room, kept).count(size, size.processes)) for room in rooms), size.processes)
    if spread is None:
        return None
    # A room whose processes moved elsewhere may have victims left that free nothing for the job.
    kept = _without_needless(size, [room for room, _ in spread], kept)
    return Choice(harm_of(kept, spread[0][0].order), tuple(kept), spread)


def _options(
    room: Room, size: Size, free: int, candidates: Callable[[Room], list[Candidate]]
) -> Iterable[tuple[int, Choice]]:
    """How many more processes would fit there for which harm."""
    count = free
    while count < size.processes:
        choice = least_harm(room, size, candidates(room), count + 1)
        if choice is None:
            return
        count = after(room, choice.victims).count(size, size.processes)
        yield count - free, choice


def _spared(victims: Sequence[Candidate], spare: dict[str, int]) -> bool:
    """Take the victims from what their projects can lose; False, and nothing taken, if one cannot."""
    after = dict(spare)
    for one in victims:
        if one.spare is None:
            continue
        after[one.project] = after.get(one.project, one.spare) - one.gpus
        if after[one.project] < 0:
            return False
    spare.update(after)
    return True


def _without_needless(size: Size, rooms: Sequence[Room], victims: list[Candidate]) -> list[Candidate]:
    for one in sorted(victims, key=lambda one: (-one.lost, -one.gpus, one.job_id)):
        others = [other for other in victims if other is not one]
        if sum(after(room, others).count(size, size.processes) for room in rooms) >= size.processes:
            victims = others
    return victims


def after(room: Room, victims: Sequence[Candidate]) -> Room:
    """A copy of the room in which the victims are gone."""
    return room.freed_by([one.job_id for one in victims if one.job_id in room.holds])


def _enough(room: Room, size: Size, candidates: Sequence[Candidate], processes: int) -> bool:
    """A bound that costs little: most nodes are ruled out by it."""
    if size.gpu:
        here = sum(one.gpus for one in candidates) + sum(room.free)
        if here < size.gpu * processes:
            return False
    return room.fits_empty(size)
