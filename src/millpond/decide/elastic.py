"""Which machines of elastic computes to create and which to delete, with reasons: pure, from one snapshot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from millpond.decide.capability import why_compute_unable, why_unable
from millpond.decide.computes import NodeView, QueuedJob
from millpond.decide.places import size_of
from millpond.decide.scheduling.room import Room
from millpond.decide.scheduling.snapshot import Node, Size
from millpond.model.quantity import format_count, format_seconds

FIRST_PAUSE_SECONDS = 30.0
LONGEST_PAUSE_SECONDS = 1800.0


@dataclass(frozen=True, slots=True)
class Offer:
    """An elastic compute: what a new machine of it would be, and its limits."""

    name: str
    node: NodeView
    price_per_hour: float
    minimum: int
    maximum: int
    idle_seconds: float
    # How long a job waits before a machine is created for it.
    wait_seconds: float = 0.0
    # Jobs with data or code can run there: its site has a volume.
    has_volume: bool = True
    # Why it creates nothing now; None if it may.
    blocked: str | None = None


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine that counts. `view` is its node, None until its agent has joined; `held` what jobs hold there."""

    name: str
    offer: str
    view: NodeView | None = None
    held: tuple[tuple[Size, tuple[int, ...]], ...] = ()
    # For how long it has had no jobs; None while it has some, or is not ready.
    idle_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Waiting:
    """A queued job that nothing but room keeps from starting, and for how long it has waited.

    `others`: the same job on further templates of its queue whose turn has come.
    """

    job: QueuedJob
    seconds: float
    others: tuple[QueuedJob, ...] = ()

    @property
    def ways(self) -> tuple[QueuedJob, ...]:
        return (self.job, *self.others)


@dataclass(frozen=True, slots=True)
class Create:
    offer: str
    reason: str


@dataclass(frozen=True, slots=True)
class Delete:
    machine: str
    reason: str
    # The maximum was lowered: no sign of something wrong, even if it ran no job.
    is_surplus: bool = False


@dataclass(frozen=True, slots=True)
class ElasticPlan:
    creates: tuple[Create, ...] = ()
    deletes: tuple[Delete, ...] = ()


def plan_machines(offers: Sequence[Offer], machines: Sequence[Machine], waiting: Sequence[Waiting]) -> ElasticPlan:
    """Machines for the waiting jobs, in their order, of the cheapest elastic compute that can run each.

    A job that fits a machine that is there or on its way needs no other one. Idle machines go once nothing that waits
    could use them, never below the minimum.
    """
    known = {offer.name: offer for offer in offers}
    fleet = _Fleet(known, [machine for machine in machines if machine.offer in known])
    for one in waiting:
        if not any(fleet.place(way) for way in one.ways):
            fleet.grow(one)
    fleet.fill_up()
    return ElasticPlan(tuple(fleet.creates), tuple(fleet.idle()))


def pause_after(failures: int) -> float:
    """Seconds before an elastic compute is tried again after so many failures in a row."""
    return min(FIRST_PAUSE_SECONDS * 2.0 ** max(0, min(failures, 20) - 1), LONGEST_PAUSE_SECONDS)


class _Fleet:
    """The machines while a plan is made, those it creates among them."""

    def __init__(self, offers: Mapping[str, Offer], machines: Sequence[Machine]) -> None:
        self._offers = offers
        self._machines = sorted(machines, key=lambda machine: machine.name)
        self._count = {name: sum(machine.offer == name for machine in machines) for name in offers}
        self._views = {machine.name: machine.view or offers[machine.offer].node for machine in self._machines}
        self._rooms = {machine.name: _room(self._views[machine.name], machine.held) for machine in self._machines}
        self._offer_of = {machine.name: machine.offer for machine in self._machines}
        self._wanted: set[str] = set()
        self.creates: list[Create] = []

    def place(self, job: QueuedJob) -> bool:
        """True if the job fits a machine that is there or on its way."""
        for name, room in self._rooms.items():
            offer = self._offers[self._offer_of[name]]
            view = self._views[name]
            if view.is_open and _able(job, view, offer) and _take(job, room):
                self._wanted.add(name)
                return True
        return False

    def grow(self, waiting: Waiting) -> None:
        """Create a machine for the job, if one may be and would do."""
        offers = sorted(self._offers.values(), key=lambda offer: (offer.price_per_hour, offer.name))
        for job, offer in product(waiting.ways, offers):
            room = _room(offer.node)
            is_free = offer.blocked is None and self._count[offer.name] < offer.maximum
            if is_free and waiting.seconds >= offer.wait_seconds and _able(job, offer.node, offer) and _take(job, room):
                self._add(offer, room, f"Job {job.id} waits.")
                return

    def fill_up(self) -> None:
        for offer in self._offers.values():
            while offer.blocked is None and self._count[offer.name] < min(offer.minimum, offer.maximum):
                self._add(offer, _room(offer.node), f"At least {format_count(offer.minimum, 'machine')} wanted.")

    def idle(self) -> list[Delete]:
        """Machines that nothing needs, the longest idle first."""
        found: list[Delete] = []
        for machine in sorted(self._machines, key=lambda one: (-(one.idle_seconds or 0.0), one.name)):
            offer = self._offers[machine.offer]
            too_many = self._count[offer.name] > offer.maximum
            if machine.idle_seconds is None or (machine.name in self._wanted and not too_many):
                continue
            if too_many:
                reason = f"The maximum is {format_count(offer.maximum, 'machine')} now."
                found.append(Delete(machine.name, reason, is_surplus=True))
            elif machine.idle_seconds >= offer.idle_seconds and self._count[offer.name] > offer.minimum:
                found.append(Delete(machine.name, f"Idle for {format_seconds(machine.idle_seconds)}."))
            else:
                continue
            self._count[offer.name] -= 1
        return found

    def _add(self, offer: Offer, room: Room, reason: str) -> None:
        name = f"new {len(self.creates)}"
        self._views[name] = offer.node
        self._rooms[name], self._offer_of[name] = room, offer.name
        self._count[offer.name] += 1
        self.creates.append(Create(offer.name, reason))


def _room(node: NodeView, held: Sequence[tuple[Size, tuple[int, ...]]] = ()) -> Room:
    room = Room(Node(node.written, node.compute, node.gpus, node.cpus, node.memory_bytes), 0)
    for number, (size, gpu_ids) in enumerate(held):
        room.hold(str(number), size, gpu_ids)
    return room


def _able(job: QueuedJob, node: NodeView, offer: Offer) -> bool:
    """True if the job could run on such a machine when it is empty."""
    return (
        node.answers_to(job.spec.compute)
        and why_compute_unable(job, node) is None
        and why_unable(job, node) is None
        and node.trust.accepts(job.project_id)
        and (offer.has_volume or not job.needs)
    )


def _take(job: QueuedJob, room: Room) -> bool:
    """Take room for all processes of the job, or none. A machine is a compute of its own: a job does not span two."""
    size = size_of(job.spec)
    if room.count(size, size.seats) < size.seats:
        return False
    for _ in range(size.seats):
        room.take(job.id, size)
    return True
