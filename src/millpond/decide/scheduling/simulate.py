"""Replay a queue or a recorded trace under other rules, quotas or nodes: what would waits and preemptions have been?

A pure function of its input. Preempted jobs lose what they did since their last checkpoint.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import heapify, heappop, heappush
from typing import Protocol

from millpond.decide.scheduling.backoff import over_quota_from
from millpond.decide.scheduling.plan import Plan
from millpond.decide.scheduling.planner import Planner
from millpond.decide.scheduling.snapshot import WHOLE, Pending, Running, Snapshot


@dataclass(frozen=True, slots=True)
class Arrival:
    """A job, when it is submitted (`pending.job.submitted`), and how long it runs if nobody stops it."""

    pending: Pending
    duration: float
    # How often it saves a checkpoint; None: not by itself.
    checkpoint_every: float | None = None
    # Seconds it needs to save one when it is told to stop; None: it saves none then.
    grace: float | None = None

    def kept(self, ran: float) -> float:
        """Seconds of an attempt that are saved when it is preempted."""
        every = ran // self.checkpoint_every * self.checkpoint_every if self.checkpoint_every else 0.0
        return every if self.grace is None else max(every, ran - self.grace)


@dataclass(frozen=True, slots=True)
class Outcome:
    """GPU-time is in GPU-seconds; shares of it are of what the pool had in that time."""

    waits: Mapping[str, float]
    finished: int
    goodput: float
    lost_share: float
    preemptions: int
    max_preemptions: int
    # Jain's index of what projects held on average per average share: 1 is perfectly fair.
    jain: float
    still_waiting: int
    # Seconds from the start to the end of the simulation.
    seconds: float
    # How often each job was preempted, and the GPU-seconds of kept work of each project.
    stops: Mapping[str, int]
    kept: Mapping[str, float]

    def mean_wait(self, jobs: Iterable[str] | None = None) -> float:
        chosen = [self.waits[job] for job in (self.waits if jobs is None else jobs) if job in self.waits]
        return sum(chosen) / len(chosen) if chosen else 0.0


class Scheduler(Protocol):
    """What is compared: the planner of this package, or a simpler one."""

    def wait(self, wanted: Pending) -> None: ...
    def leave(self, job_id: str) -> None: ...
    def change(self, running: Running) -> None: ...
    def plan(self, now: float) -> Plan: ...


def simulate(
    start: Snapshot,
    arrivals: Sequence[Arrival],
    until: float | None,
    make: Callable[[Snapshot], Scheduler] = Planner,
) -> Outcome:
    """Run the arrivals from `start.now` to `until`, or until nothing happens any more.

    A job that runs at the start needs an arrival, too: the one that it had. Fairness is measured against the shares
    that plans tell.
    """
    return _Simulation(start, arrivals, until, make(start)).run()


def _shares(plan: Plan) -> Mapping[str, float]:
    found: dict[str, float] = defaultdict(float)
    for standing in plan.standings:
        found[standing.project] += float(standing.share)
    return found


# When, what (see `_happen`), of which job, which attempt.
Event = tuple[float, int, str, int]


@dataclass
class _Attempt:
    began: float
    number: int


@dataclass
class _Simulation:
    start: Snapshot
    arrivals: Sequence[Arrival]
    until: float | None
    scheduler: Scheduler
    known: dict[str, Arrival] = field(default_factory=dict)
    attempts: dict[str, _Attempt] = field(default_factory=dict)
    # Seconds of each job that are saved, and the times at which it was preempted.
    saved: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    stops: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    waits: dict[str, float] = field(default_factory=dict)
    held: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    # GPU-time, while a project has a share: what it held, and what its share was.
    allocated: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    due: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    # What jobs that run at the start have done before it.
    before: dict[str, float] = field(default_factory=dict)
    kept: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    lost: float = 0.0
    finished: int = 0
    number: int = 0

    def run(self) -> Outcome:
        events = self._begin()
        now, current = self.start.now, Plan()
        while events and (self.until is None or events[0][0] <= self.until):
            moment = events[0][0]
            self._measure(moment - now, current)
            now = moment
            while events and events[0][0] == now:
                _, kind, job_id, number = heappop(events)
                self._happen(kind, job_id, number)
            current = self.scheduler.plan(now)
            for event in self._follow(current, now):
                heappush(events, event)
        end = now if self.until is None else self.until
        self._measure(end - now, current)
        for job_id, attempt in self.attempts.items():
            self._keep(job_id, end - attempt.began)
        return self._outcome(end)

    def _begin(self) -> list[Event]:
        """What is known to happen: jobs arrive, and those that run end."""
        now, running = self.start.now, {one.job.id: one for one in self.start.running}
        events: list[Event] = []
        for arrival in self.arrivals:
            job = arrival.pending.job
            self.known[job.id] = arrival
            if job.id not in running:
                events.append((max(now, job.submitted), 0, job.id, 0))
                continue
            started = min(now, running[job.id].started)
            self.number += 1
            self.attempts[job.id] = _Attempt(started, self.number)
            self.before[job.id] = now - started
            self.held[job.project] += job.size.gpus
            events.append((max(now, started + arrival.duration), 1, job.id, self.number))
        heapify(events)
        return events

    def _keep(self, job_id: str, seconds: float) -> None:
        """Work of an attempt that is kept, as far as it was done since the start."""
        project = self.known[job_id].pending.job.project
        self.kept[project] += max(0.0, seconds - self.before.pop(job_id, 0.0)) * self._gpus(job_id)

    def _happen(self, kind: int, job_id: str, number: int) -> None:
        """0: it is submitted, or may wait again; 1: an attempt has run to its end."""
        if kind == 0:
            if number == 0:
                self.scheduler.wait(self.known[job_id].pending)
            return
        attempt = self.attempts.get(job_id)
        if attempt is None or attempt.number != number:
            return
        del self.attempts[job_id]
        arrival = self.known[job_id]
        self._keep(job_id, arrival.duration - self.saved[job_id])
        self.held[arrival.pending.job.project] -= arrival.pending.job.size.gpus
        self.finished += 1
        self.scheduler.leave(job_id)

    def _follow(self, plan: Plan, now: float) -> Iterable[Event]:
        for stop in plan.preemptions:
            yield from self._preempt(stop.job, now)
        for start in plan.starts:
            arrival = self.known[start.job]
            self.waits.setdefault(start.job, now - arrival.pending.job.submitted)
            self.number += 1
            self.attempts[start.job] = _Attempt(now, self.number)
            self.held[arrival.pending.job.project] += arrival.pending.job.size.gpus
            if start.victims:
                self.scheduler.change(Running(arrival.pending.job, start.seats, started=now))
            yield now + arrival.duration - self.saved[start.job], 1, start.job, self.number

    def _preempt(self, job_id: str, now: float) -> Iterable[Event]:
        arrival, attempt = self.known[job_id], self.attempts.pop(job_id)
        ran = now - attempt.began
        saved = arrival.kept(ran)
        self.saved[job_id] += saved
        self._keep(job_id, saved)
        self.lost += (ran - saved) * self._gpus(job_id)
        self.held[arrival.pending.job.project] -= arrival.pending.job.size.gpus
        self.stops[job_id].append(now)
        back = over_quota_from(self.stops[job_id], now)
        self.scheduler.wait(replace(arrival.pending, over_quota_from=back))
        # Nothing happens then but that it may go over quota again: plan once more.
        yield back, 0, job_id, 1

    def _gpus(self, job_id: str) -> float:
        return self.known[job_id].pending.job.size.gpus / WHOLE

    def _measure(self, seconds: float, plan: Plan) -> None:
        for project, share in _shares(plan).items() if seconds > 0 else ():
            if share > 0:
                self.allocated[project] += seconds * self.held[project]
                self.due[project] += seconds * share

    def _outcome(self, end: float) -> Outcome:
        gpus = sum(node.gpus for node in self.start.nodes if node.up and not node.elastic)
        capacity = gpus * (end - self.start.now) or 1.0
        ratios = [self.allocated[project] / self.due[project] for project in self.due]
        squares = sum(ratio * ratio for ratio in ratios)
        counts = [len(stops) for stops in self.stops.values()]
        return Outcome(
            waits=self.waits,
            finished=self.finished,
            goodput=sum(self.kept.values()) / capacity,
            lost_share=self.lost / capacity,
            preemptions=sum(counts),
            max_preemptions=max(counts, default=0),
            jain=sum(ratios) ** 2 / (len(ratios) * squares) if squares else 1.0,
            still_waiting=len(self.known) - len(self.start.running) - len(self.waits),
            seconds=end - self.start.now,
            stops={job_id: len(stops) for job_id, stops in self.stops.items()},
            kept=self.kept,
        )
