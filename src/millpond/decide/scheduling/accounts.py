"""Accounts: what each project holds, waits for and may have of one pool, while a plan is made."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from heapq import heapify, heappop, heappush
from math import ceil, floor, inf

from millpond.decide.scheduling.fleet import Fit, Shape
from millpond.decide.scheduling.shares import Claimant, over_quota, quota_order
from millpond.decide.scheduling.snapshot import Pending, Project, Running


class Line:
    """Pending jobs of one project and one kind: they differ in nothing a plan looks at but their place in line."""

    __slots__ = ("gpus", "jobs", "kind", "over_quota_from", "preemptible", "priority", "shape")

    def __init__(self, kind: Kind, wanted: Pending, shape: Shape) -> None:
        self.kind, self.shape, self.gpus = kind, shape, shape.gpus
        self.priority, self.preemptible = wanted.job.priority, wanted.job.preemptible
        self.over_quota_from = wanted.over_quota_from
        # In the order in which they are tried; never empty while the line exists.
        self.jobs: list[Pending] = []

    @property
    def head(self) -> Pending:
        return self.jobs[0]


Kind = tuple[Shape, int, bool, float | None, float]


def kind_of(wanted: Pending, shape: Shape) -> Kind:
    job = wanted.job
    return (shape, job.priority, job.preemptible, job.time_limit, wanted.over_quota_from)


@dataclass(slots=True)
class Account:
    """Amounts in hundredths of a GPU. `elsewhere` is what the project holds outside the fixed nodes of this pool."""

    project: Project
    quota: int
    weight: int
    elsewhere: int = 0
    # Jobs of the project in other pools.
    jobs_elsewhere: int = 0
    allocated: int = 0
    # Of `allocated`, by jobs that are never preempted.
    fixed: int = 0
    # What its pending jobs ask for.
    wanted: int = 0
    # What its preempted jobs held that have not ended yet: they will wait again.
    ending: int = 0
    # In the order in which they use up the quota, with what each holds of it.
    running: list[tuple[Running, int]] = field(default_factory=list)
    lines: dict[Kind, Line] = field(default_factory=dict)
    # The same lines by what they ask of nodes: what is ruled out for one is ruled out for all.
    groups: dict[Fit, dict[Kind, Line]] = field(default_factory=dict)
    # How many lines, and how many running jobs that are preemptible, there are of each priority.
    priorities: Counter[int] = field(default_factory=Counter)
    running_priorities: Counter[int] = field(default_factory=Counter)
    # Jobs beyond the quota.
    over: set[str] = field(default_factory=set)
    # Jobs without GPUs on nodes that have some: always beyond the quota.
    guests: set[str] = field(default_factory=set)
    share: Fraction = Fraction(0)
    # The share in whole hundredths: the most that stays within it, the least that is not below it.
    share_floor: int = 0
    share_ceil: int = 0

    @property
    def name(self) -> str:
        return self.project.name

    @property
    def usage(self) -> float:
        """What the project holds per weight. Equal ratios give equal floats: both parts are whole numbers."""
        return self.allocated / self.weight if self.weight else inf

    @property
    def satisfaction(self) -> float:
        """What the project holds of its share; infinite where its share is nothing. Exact: whole numbers divided."""
        return self.allocated * self.share.denominator / self.share.numerator if self.share else inf

    def has_all_jobs(self, *, giving: int = 0) -> bool:
        """True if the project may have no further job at once; `giving` are those that end for it."""
        most = self.project.jobs
        return most is not None and len(self.running) + self.jobs_elsewhere - giving >= most

    def set_share(self, share: Fraction) -> None:
        self.share, self.share_floor, self.share_ceil = share, floor(share), ceil(share)

    def claimant(self, capacity: int) -> Claimant:
        most = capacity if self.project.over_quota else self.quota
        if self.project.limit is not None:
            most = min(most, max(0, self.project.limit - self.elsewhere))
        if self.has_all_jobs():
            most = 0
        demand = max(self.allocated, min(self.allocated + self.wanted + self.ending, most))
        return Claimant(self.name, self.quota, self.weight, demand)

    # Running jobs

    def add(self, running: Running, held: int, *, guest: bool = False) -> None:
        insort(self.running, (running, held), key=lambda one: quota_order(one[0]))
        if guest:
            self.guests.add(running.job.id)
        self._add(running, held)
        self._walk()

    def load(self, running: Iterable[tuple[Running, int]], guests: set[str]) -> None:
        """Many at once."""
        self.running = sorted(running, key=lambda one: quota_order(one[0]))
        self.guests = guests
        for one, held in self.running:
            self._add(one, held)
        self._walk()

    def remove(self, running: Running) -> int:
        """What the job held."""
        index = bisect_left(self.running, quota_order(running), key=lambda one: quota_order(one[0]))
        _, held = self.running.pop(index)
        self.guests.discard(running.job.id)
        self._count(running, -held)
        if running.job.preemptible:
            _discount(self.running_priorities, running.job.priority)
        self._walk()
        return held

    def replace(self, running: Running, changed: Running) -> None:
        """The same job, with other times."""
        index = bisect_left(self.running, quota_order(running), key=lambda one: quota_order(one[0]))
        self.running[index] = (changed, self.running[index][1])

    def _add(self, running: Running, held: int) -> None:
        self._count(running, held)
        if running.job.preemptible:
            self.running_priorities[running.job.priority] += 1

    def _count(self, running: Running, held: int) -> None:
        self.allocated += held
        if not running.job.preemptible:
            self.fixed += held

    def _walk(self) -> None:
        over = over_quota(self.running, self.quota) if self.allocated > self.quota else set()
        self.over = over | self.guests

    # Pending jobs

    def wait(self, wanted: Pending, shape: Shape) -> Line:
        kind = kind_of(wanted, shape)
        line = self.lines.get(kind)
        if line is None:
            line = self.lines[kind] = Line(kind, wanted, shape)
            self.groups.setdefault(shape.fit, {})[kind] = line
            self.priorities[line.priority] += 1
        insort(line.jobs, wanted, key=_rank)
        self.wanted += line.gpus
        return line

    def leave(self, wanted: Pending, line: Line) -> None:
        line.jobs.pop(bisect_left(line.jobs, wanted.job.rank, key=_rank))
        if not line.jobs:
            self._drop(line)
        self.wanted -= line.gpus

    def _drop(self, line: Line) -> None:
        del self.lines[line.kind]
        group = self.groups[line.shape.fit]
        del group[line.kind]
        if not group:
            del self.groups[line.shape.fit]
        _discount(self.priorities, line.priority)

    def heads(self) -> list[Line]:
        """The lines, in the order in which their first jobs are tried."""
        return sorted(self.lines.values(), key=lambda line: line.head.job.rank)


@dataclass(frozen=True, slots=True)
class Admission:
    """Which pending jobs a phase looks at: of these sizes, and of these lines."""

    admits_size: Callable[[Account, Fit], bool]
    admits: Callable[[Account, Line], bool]


class Cursor:
    """Hands out the lines of an account that a phase admits, in the order of their first jobs. Of a kind that cannot
    start, or that is not admitted, only the first job is looked at; of sizes that are not, none."""

    def __init__(self, account: Account, phase: Admission) -> None:
        self.account, self._phase = account, phase
        # Ranks are unique, so lines are never compared.
        self._heap = [
            (line.head.job.rank, line)
            for fit, lines in account.groups.items()
            if phase.admits_size(account, fit)
            for line in lines.values()
            if phase.admits(account, line)
        ]
        heapify(self._heap)

    def peek(self) -> Line | None:
        while self._heap:
            rank, line = self._heap[0]
            if (
                line.jobs
                and line.head.job.rank == rank
                and self._phase.admits_size(self.account, line.shape.fit)
                and self._phase.admits(self.account, line)
            ):
                return line
            heappop(self._heap)
        return None

    def done(self, *, started: bool) -> None:
        """Go on behind the first job: with the next of its kind if it started, else with other kinds."""
        _, line = heappop(self._heap)
        if started and line.jobs:
            heappush(self._heap, (line.head.job.rank, line))


def _discount(counts: Counter[int], key: int) -> None:
    counts[key] -= 1
    if not counts[key]:
        del counts[key]


def _rank(wanted: Pending) -> tuple[int, float, str]:
    return wanted.job.rank
