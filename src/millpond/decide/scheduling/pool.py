"""The state of one pool, and what changes it: jobs start, stop, wait and leave."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from millpond.decide.scheduling import reservation, rules
from millpond.decide.scheduling.accounts import Account, Line
from millpond.decide.scheduling.fleet import Fit, Fleet, Shape, Spread
from millpond.decide.scheduling.plan import Start
from millpond.decide.scheduling.room import Room
from millpond.decide.scheduling.shares import divide_shares
from millpond.decide.scheduling.snapshot import WHOLE, Pending, Reservation, Running, Seat


@dataclass(frozen=True, slots=True)
class Preempted:
    running: Running
    taker: str
    rule: str


# A size, whether it is a claim, preemptible, its time limit, whether nodes are elastic, its project and priority.
Refusal = tuple[Fit | Shape, bool, bool, float | None, bool, tuple[str, int] | None]


@dataclass
class Pool:
    """Kept between plans: indexes follow what happens, and are never made anew for one event."""

    name: str
    fleet: Fleet
    accounts: dict[str, Account]
    capacity: int
    now: float = 0.0
    running: dict[str, Running] = field(default_factory=dict)
    waiting: dict[str, tuple[Pending, Line]] = field(default_factory=dict)
    reservations: dict[str, Reservation] = field(default_factory=dict)
    # Of the plan that is being made.
    starts: dict[str, Start] = field(default_factory=dict)
    preempted: dict[str, Preempted] = field(default_factory=dict)
    # Of earlier plans: preempted, and not waiting again yet.
    ending: dict[str, Running] = field(default_factory=dict)
    # What a job that was started was waiting as, should the plan take it back.
    _wanted: dict[str, Pending] = field(default_factory=dict)
    _refused: dict[Refusal, tuple[int, float]] = field(default_factory=dict)
    # The projects of jobs with reservations, and how many each has.
    _reserved: dict[str, str] = field(default_factory=dict)
    _reserving: Counter[str] = field(default_factory=Counter)
    # Preempted jobs that did not fit beside their takers: the versions of the rooms then.
    _apart: dict[str, list[int]] = field(default_factory=dict)

    def begin(self, now: float) -> None:
        """Begin a plan: shares follow from what runs and waits."""
        self.now = now
        self.starts, self.preempted, self._wanted, self._apart = {}, {}, {}, {}
        shares = divide_shares(self.capacity, [one.claimant(self.capacity) for one in self.accounts.values()])
        for name, share in shares.items():
            self.accounts[name].set_share(share)

    def finish(self) -> None:
        """The plan is made, and counts as followed."""
        for one in self.preempted.values():
            self.end(one.running)

    # What happens outside

    def load(self, running: Iterable[Running]) -> None:
        by_project: dict[str, list[tuple[Running, int]]] = {}
        guests: dict[str, set[str]] = {}
        for one in running:
            account = self.accounts[one.job.project]
            self.running[one.job.id] = one
            self.fleet.hold(one.job.id, one.job.size, one.seats)
            held, guest = self._holds(one)
            account.elsewhere += one.job.size.gpus - held
            by_project.setdefault(account.name, []).append((one, held))
            if guest:
                guests.setdefault(account.name, set()).add(one.job.id)
        for project, found in by_project.items():
            self.accounts[project].load(found, guests.get(project, set()))

    def add(self, running: Running) -> None:
        """A job runs, or is nominated, there."""
        account = self.accounts[running.job.project]
        held, guest = self._holds(running)
        self.running[running.job.id] = running
        account.elsewhere += running.job.size.gpus - held
        account.add(running, held, guest=guest)

    def remove(self, job_id: str) -> Running:
        """A job that ran has gone."""
        running = self.running.pop(job_id)
        account = self.accounts[running.job.project]
        self.fleet.release(job_id, running.seats)
        account.elsewhere -= running.job.size.gpus - account.remove(running)
        return running

    def change(self, running: Running) -> None:
        """The same job with other times, or no longer nominated."""
        old = self.running[running.job.id]
        self.running[running.job.id] = running
        self.accounts[running.job.project].replace(old, running)
        for room in rooms_of(self.fleet, running.seats):
            room.ends = {}

    def end(self, running: Running) -> None:
        """A preempted job has not ended yet: until it waits again, its project wants what it held."""
        self.ending[running.job.id] = running
        self.accounts[running.job.project].ending += self._holds(running)[0]

    def forget(self, job_id: str) -> None:
        """A preempted job has ended."""
        running = self.ending.pop(job_id, None)
        if running is not None:
            self.accounts[running.job.project].ending -= self._holds(running)[0]

    def wait(self, wanted: Pending) -> bool:
        """A job waits; False if no open node of this pool could ever run it."""
        shape = self.fleet.shape(wanted)
        if not self.fleet.is_able(shape):
            return False
        self.waiting[wanted.job.id] = wanted, self.accounts[wanted.job.project].wait(wanted, shape)
        return True

    def leave(self, job_id: str) -> bool:
        """A job waits no longer; False if it did not."""
        if job_id not in self.waiting:
            return False
        wanted, line = self.waiting.pop(job_id)
        self.accounts[wanted.job.project].leave(wanted, line)
        self._end_reservation(job_id)
        return True

    # What a plan does

    def start(self, wanted: Pending, spread: Spread, rule: str, victims: tuple[str, ...] = ()) -> None:
        job = wanted.job
        self.leave(job.id)
        seats = self.fleet.take(job.id, job.size, spread)
        self.add(Running(job, seats, started=self.now, nominated=bool(victims)))
        self.starts[job.id] = Start(job.id, seats, rule, victims)
        self._wanted[job.id] = wanted

    def stop(self, job_id: str, taker: str, rule: str) -> None:
        """Preempt a job; one that this plan started had not begun, and simply waits on."""
        running = self.remove(job_id)
        if job_id in self.starts:
            del self.starts[job_id]
            self.wait(self._wanted.pop(job_id))
        else:
            self.preempted[job_id] = Preempted(running, taker, rule)

    def reprieve(self) -> None:
        """Let preempted jobs go on that need not stop after all: what others gave up was enough for the taker."""
        for job_id in sorted(self.preempted):
            spared = self.preempted[job_id]
            if self._may_go_on(spared) and self._seat_both(spared):
                del self.preempted[job_id]
                self.add(spared.running)

    def _may_go_on(self, spared: Preempted) -> bool:
        """True if neither its project's limits nor, under the rule of priority, a reservation forbid it."""
        account = self.accounts[spared.running.job.project]
        if not rules.may_hold(account, spared.running.job.size.gpus):
            return False
        taker = self.running.get(spared.taker)
        if spared.rule != rules.PRIORITY or taker is None:
            return True
        return all(room.reservation is None for room in rooms_of(self.fleet, taker.seats))

    def _seat_both(self, spared: Preempted) -> bool:
        """Seat a preempted job where it was, and its taker on the same nodes beside it; False, and nothing is changed,
        where there is not room for both."""
        victim, taker = spared.running, self.running.get(spared.taker)
        start = self.starts.get(spared.taker)
        if taker is None or start is None:
            if not self.fleet.are_free(victim):
                return False
            self.fleet.hold(victim.job.id, victim.job.size, victim.seats)
            return True
        rooms = rooms_of(self.fleet, (*victim.seats, *taker.seats))
        if self._apart.get(victim.job.id) == [room.version for room in rooms]:
            return False
        if self._seat_beside(victim, taker, start):
            return True
        self._apart[victim.job.id] = [room.version for room in rooms]
        return False

    def _seat_beside(self, victim: Running, taker: Running, start: Start) -> bool:
        grown = self.fleet.grown
        self.fleet.release(taker.job.id, taker.seats)
        counts = Counter(seat.node for seat in taker.seats)
        if self.fleet.are_free(victim):
            self.fleet.hold(victim.job.id, victim.job.size, victim.seats)
            spread = [(self.fleet.rooms[node], count) for node, count in counts.items()]
            size = taker.job.size
            if all(room.count(size, count) >= count for room, count in spread):
                seats = self.fleet.take(taker.job.id, size, spread)
                victims = tuple(job for job in start.victims if job != victim.job.id)
                self.starts[taker.job.id] = replace(start, seats=seats, victims=victims)
                self.change(replace(taker, seats=seats, nominated=bool(victims)))
                return True
            self.fleet.release(victim.job.id, victim.seats)
        self.fleet.hold(taker.job.id, taker.job.size, taker.seats)
        # Everything is as it was: what did not fit then does not fit now.
        self.fleet.grown = grown
        return False

    # Sizes whose room is reserved

    def refusal(self, line: Line, *, claim: bool, elastic: bool) -> Refusal | None:
        """What all jobs have in common that find no room if this one does not; None where that is not known."""
        job = line.head.job
        if not self.fleet.is_everywhere(line.shape) or job.id in self.reservations:
            return None
        # Reservations treat jobs of their own project apart.
        own = (job.project, job.priority) if self._reserving[job.project] else None
        # Gangs stay within one compute, and one compute may be partly cheap: there places matter.
        size = line.shape if line.shape.size.processes else line.shape.fit
        return (size, claim, line.preemptible, job.time_limit, elastic, own)

    def is_refused(self, refusal: Refusal) -> bool:
        return self._refused.get(refusal) == (self.fleet.grown, self.now)

    def refuse(self, refusal: Refusal) -> None:
        """Remember it until room comes back, reservations change, or time passes."""
        self._refused[refusal] = (self.fleet.grown, self.now)

    def reserve(self) -> bool:
        """Reserve nodes for the first large job that cannot start of each project below its share.

        Reservations together take at most a tenth of the nodes; the first is always granted. False if none is new.
        """
        most = len(self.fleet.rooms) // 10
        having = {self.waiting[job_id][0].job.project for job_id in self.reservations}
        before = len(self.reservations)
        for account in self.by_usage():
            taken = sum(len(one.nodes) for one in self.reservations.values())
            if taken and taken >= most:
                break
            if account.allocated >= account.share or account.name in having:
                continue
            line = next((one for one in account.heads() if self._deserves(account, one)), None)
            if line is None:
                continue
            claim = rules.is_claim(account, line)
            new = reservation.make(self.fleet, line.head, line.shape, self.running, self.now, claim=claim)
            if new is not None and (not taken or taken + len(new.nodes) <= most):
                self._reserve(new)
        return len(self.reservations) > before

    def by_usage(self) -> list[Account]:
        return sorted(self.accounts.values(), key=lambda account: (account.usage, account.name))

    # Reservations

    def keep(self, reservations: Iterable[Reservation]) -> None:
        """Honour reservations of earlier plans: each is kept until its job starts or goes."""
        for old in sorted(reservations, key=lambda one: one.job):
            if old.job in self.waiting and set(old.nodes) <= self.fleet.rooms.keys():
                self._reserve(old)

    def refresh_reservations(self) -> None:
        """Whether one is for a claim, and when its job is expected to start, changes with what runs."""
        for old in list(self.reservations.values()):
            wanted, line = self.waiting[old.job]
            rooms = [self.fleet.rooms[node] for node in old.nodes]
            if not all(room.node.open for room in rooms):
                self._end_reservation(old.job)
                continue
            starts = [reservation.expected_start(room, line.shape.size, self.running, self.now) for room in rooms]
            expected = None if None in starts else max(start for start in starts if start is not None)
            claim = rules.is_claim(self.accounts[wanted.job.project], line)
            self._reserve(replace(old, claim=claim, expected=expected))

    def _deserves(self, account: Account, line: Line) -> bool:
        return reservation.needs_reservation(line.gpus) and rules.obstacle(account, line, self.now) is None

    def _reserve(self, new: Reservation) -> None:
        old = self.reservations.get(new.job)
        if old == new:
            return
        if old is None:
            project = self._reserved[new.job] = self.waiting[new.job][0].job.project
            self._reserving[project] += 1
        self.reservations[new.job] = new
        self._refused.clear()
        for node in new.nodes:
            self.fleet.rooms[node].reservation = new
            self.fleet.rooms[node].reserved_for = self.waiting[new.job][0].job

    def _end_reservation(self, job_id: str) -> None:
        old = self.reservations.pop(job_id, None)
        if old is not None:
            self._refused.clear()
            self._reserving[self._reserved.pop(job_id)] -= 1
            for node in old.nodes:
                self.fleet.rooms[node].reservation = self.fleet.rooms[node].reserved_for = None
            self.fleet.grown += 1

    def _holds(self, running: Running) -> tuple[int, bool]:
        """What a job holds of the quota, and whether it is a guest: without GPUs on a node that has some."""
        rooms = rooms_of(self.fleet, running.seats)
        if rooms[0].elastic:
            return 0, False
        gpus = running.job.size.gpus
        return gpus, not gpus and any(room.node.gpus for room in rooms)


def rooms_of(fleet: Fleet, seats: Iterable[Seat]) -> list[Room]:
    return [fleet.rooms[seat.node] for seat in seats if seat.node in fleet.rooms]


def whole_pool(fleet: Fleet) -> int:
    """Hundredths of the GPUs that quotas and shares are about: of fixed nodes that are up."""
    return sum(room.node.gpus * WHOLE for room in fleet.rooms.values() if room.node.up and not room.elastic)
