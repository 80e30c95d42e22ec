"""Who may be preempted for whom in one phase of a plan, and the preemption itself (docs/design/014, c to f and i)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from millpond.decide.scheduling import rules
from millpond.decide.scheduling.accounts import Account, Line
from millpond.decide.scheduling.fleet import Shape
from millpond.decide.scheduling.pool import Pool
from millpond.decide.scheduling.room import Room
from millpond.decide.scheduling.rules import CLAIM, REBALANCE
from millpond.decide.scheduling.snapshot import Pending, Running, Size
from millpond.decide.scheduling.victims import Candidate, Choice, Chooser, GangChooser, after, least_harm

# What decides which nodes and jobs a search may choose from.
Search = tuple[str, Size, frozenset[str], frozenset[str] | None]


class Preemptor:
    """Lives for one phase: what it learned about nodes holds while only its own preemptions change them."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        # The nodes on which it has preempted jobs.
        self.touched: set[str] = set()
        self._rooms: dict[str, list[Room]] = {}
        self._single: dict[Search, Chooser] = {}
        self._gangs: dict[Search, GangChooser] = {}
        self._own: dict[tuple[str, int], dict[str, Candidate]] = {}
        # Who may be preempted on a node: removing an over-quota job changes nothing about who else is.
        self._beyond: dict[int, list[tuple[str, Account, int, float]]] = {}

    def take(self, account: Account, line: Line, rule: str) -> bool:
        """Make room for a job with over-quota jobs of other projects; False where that is not possible."""
        rooms = self._find_rooms(rule)
        if not rooms:
            return False
        wanted, shape = line.head, line.shape
        key = (rule, shape.size._replace(processes=min(1, shape.size.processes)), shape.requires, shape.zones)

        claim = rules.is_claim(account, line)

        def allowed(room: Room) -> bool:
            return rules.may_use(room, wanted, self._pool.now, claim=claim)

        if shape.size.processes:
            gang = self._gangs.get(key)
            if gang is None:
                gang = self._gangs[key] = self._gang_chooser(line, rule)
            choice = gang.choose(shape.size.processes, account.name, allowed)
        else:
            single = self._single.get(key)
            if single is None:
                suiting = [room for room in rooms if _suits(room, shape)]
                single = Chooser(shape.size, suiting, lambda room, taker: self._candidates(room, taker, rule))
                self._single[key] = single
            choice = single.choose(account.name, allowed)
        if choice is not None:
            self._apply(wanted, choice, rule)
        return choice is not None

    def take_from_own(self, account: Account, line: Line, rule: str) -> bool:
        """Make room with jobs of lower priority of its own project; False where that is not possible.

        A job without GPUs takes from such jobs only: it is over quota, and must not displace one that is not.

        What is free besides is used only as far as the project may grow: within its share and its limits, and not
        on nodes reserved for others. Where it may not, its own jobs have to give all of the room.
        """
        lower = self._lower(account, line.priority)
        if not line.gpus:
            lower = {job_id: one for job_id, one in lower.items() if not one.gpus}
        # The cheap bounds first: most that wait are ruled out by them.
        spare = sum(one.gpus for one in lower.values()) + max(0, account.share_floor - account.allocated)
        if not lower or spare < line.gpus:
            return False
        usable = self._usable(account, line)
        for free_counts in (usable, _nowhere):
            choice = self._choose_own(line, lower, free_counts)
            if choice is not None and self._may_grow(account, line, choice, usable):
                self._apply(line.head, self._spare_needless(account, line, choice, usable), rule)
                return True
        return False

    def _choose_own(self, line: Line, lower: Mapping[str, Candidate], usable: Callable[[Room], bool]) -> Choice | None:
        """The own jobs that hurt least, on nodes whose free room counts only where it is usable."""
        fleet, size = self._pool.fleet, line.shape.size

        def candidates(room: Room, _taker: str | None) -> list[Candidate]:
            return [lower[job_id] for job_id in room.holds if job_id in lower]

        def seen(room: Room) -> Room:
            return room if usable(room) else room.without_free_gpus()

        if size.processes:
            computes = [(name, [seen(room) for room in rooms]) for name, rooms in self._computes(line)]
            choice = GangChooser(size, computes, candidates).choose(size.processes, "", lambda _: True)
        else:
            nodes = {seat.node for job_id in lower for seat in self._pool.running[job_id].seats}
            rooms = [seen(fleet.rooms[node]) for node in nodes if _suits(fleet.rooms[node], line.shape)]
            choices = [least_harm(room, size, candidates(room, None)) for room in rooms]
            choice = min((one for one in choices if one), key=lambda one: one.harm, default=None)
        if choice is None:
            return None
        return replace(choice, spread=[(fleet.rooms[room.node.id], count) for room, count in choice.spread])

    def _usable(self, account: Account, line: Line) -> Callable[[Room], bool]:
        claim, wanted = rules.is_claim(account, line), line.head
        return lambda room: rules.may_use(room, wanted, self._pool.now, claim=claim)

    def _may_grow(self, account: Account, line: Line, choice: Choice, usable: Callable[[Room], bool]) -> bool:
        """True if the project may have what the job takes more than its victims give."""
        given = sum(one.gpus for one in choice.victims)
        if rules.obstacle(account, line, self._pool.now, giving=given) is not None:
            return False
        if line.gpus <= given:
            return True
        within = account.allocated + line.gpus - given <= account.share_floor
        return within and all(usable(room) for room, _ in choice.spread)

    def _spare_needless(self, account: Account, line: Line, choice: Choice, usable: Callable[[Room], bool]) -> Choice:
        """Leave out victims without whom there is room, and the project may grow by that."""
        size = line.shape.size
        for one in sorted(choice.victims, key=lambda one: (-one.lost, -one.gpus, one.job_id)):
            fewer = replace(choice, victims=tuple(other for other in choice.victims if other is not one))
            fits = all(after(room, fewer.victims).count(size, count) >= count for room, count in choice.spread)
            if fits and self._may_grow(account, line, fewer, usable):
                choice = fewer
        return choice

    def could_give(self, account: Account, priority: int) -> int:
        """What a project could free of its own for a job of this priority, at most."""
        return sum(one.gpus for one in self._lower(account, priority).values())

    def _lower(self, account: Account, priority: int) -> dict[str, Candidate]:
        """Its preemptible jobs below a priority."""
        known = self._own.get((account.name, priority))
        if known is None:
            known = self._own[account.name, priority] = {
                one.job.id: self._candidate(account, one)
                for one, _ in account.running
                if one.job.priority < priority and self._is_preemptible(account, one)
            }
        return known

    def _gang_chooser(self, line: Line, rule: str) -> GangChooser:
        def candidates(room: Room, taker: str | None) -> list[Candidate]:
            return self._candidates(room, taker, rule)

        return GangChooser(line.shape.size, self._computes(line), candidates)

    def _computes(self, line: Line) -> Iterable[tuple[str, list[Room]]]:
        for name, rooms in self._pool.fleet.computes(line.shape.zones):
            yield name, [room for room in rooms if _suits(room, line.shape)]

    def _apply(self, wanted: Pending, choice: Choice, rule: str) -> None:
        pool = self._pool
        victims = [one.job_id for one in choice.victims]
        touched = {seat.node for job_id in victims for seat in pool.running[job_id].seats}
        real = tuple(job_id for job_id in victims if job_id not in pool.starts)
        for job_id in victims:
            pool.stop(job_id, wanted.job.id, rule)
        pool.start(wanted, choice.spread, rule, real)
        touched |= {room.node.id for room, _ in choice.spread}
        self.touched |= touched
        self._own.clear()
        for node in touched:
            room = pool.fleet.rooms[node]
            self._beyond.pop(room.order, None)
            for single in self._single.values():
                single.update(room)
            for gang in self._gangs.values():
                gang.update(room)

    # Candidates

    def has_candidates(self, rule: str) -> bool:
        """False if nobody may be preempted under this rule, whoever takes."""
        return bool(self._find_rooms(rule))

    def _find_rooms(self, rule: str) -> list[Room]:
        rooms = self._rooms.get(rule)
        if rooms is None:
            rooms = self._rooms[rule] = self._rooms_with_candidates(rule)
        return rooms

    def _rooms_with_candidates(self, rule: str) -> list[Room]:
        """Nodes on which somebody may be preempted at all: mostly few, and often none."""
        pool = self._pool
        found: set[str] = set()
        for account in pool.accounts.values():
            spare = account.allocated - account.share_ceil
            if not account.over or (rule == REBALANCE and spare < 0):
                continue
            for job_id in account.over:
                running = pool.running[job_id]
                if (rule == CLAIM or running.job.size.gpus <= spare) and self._is_preemptible(account, running):
                    found.update(seat.node for seat in running.seats)
        rooms = pool.fleet.rooms
        return sorted((rooms[node] for node in found if node in rooms), key=lambda room: room.order)

    def _candidates(self, room: Room, taker: str | None, rule: str) -> list[Candidate]:
        known = self._beyond.get(room.order)
        if known is None:
            known = self._beyond[room.order] = self._beyond_quota(room)
        if rule == CLAIM:
            return [
                Candidate(job_id, account.name, gpus, lost, account.satisfaction)
                for job_id, account, gpus, lost in known
                if account.name != taker
            ]
        return [
            Candidate(job_id, account.name, gpus, lost, account.satisfaction, account.allocated - account.share_ceil)
            for job_id, account, gpus, lost in known
            if account.name != taker
        ]

    def _beyond_quota(self, room: Room) -> list[tuple[str, Account, int, float]]:
        pool = self._pool
        found = []
        for job_id in room.holds:
            running = pool.running[job_id]
            account = pool.accounts[running.job.project]
            if job_id in account.over and self._is_preemptible(account, running):
                lost = 0.0 if job_id in pool.starts else running.lost(pool.now)
                found.append((job_id, account, running.job.size.gpus, lost))
        return found

    def _is_preemptible(self, account: Account, running: Running) -> bool:
        """A job that waits for victims to end is no victim itself; one that this plan started has not run at all."""
        job = running.job
        if not job.preemptible or running.nominated:
            return False
        return job.id in self._pool.starts or self._pool.now - running.started >= account.project.min_runtime

    def _candidate(self, account: Account, running: Running) -> Candidate:
        job = running.job
        lost = 0.0 if job.id in self._pool.starts else running.lost(self._pool.now)
        return Candidate(job.id, account.name, job.size.gpus, lost, account.satisfaction)


def _nowhere(_room: Room) -> bool:
    return False


def _suits(room: Room, shape: Shape) -> bool:
    node = room.node
    inside = shape.zones is None or node.zone in shape.zones
    return node.open and inside and not room.elastic and shape.requires <= node.offers and room.fits_empty(shape.size)
