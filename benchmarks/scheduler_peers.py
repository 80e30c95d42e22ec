"""What the scheduler is compared with: strict first come first served, and best fit that fills every gap."""

from __future__ import annotations

from bisect import insort

from millpond.decide.scheduling.fleet import Fleet
from millpond.decide.scheduling.plan import Plan, Start
from millpond.decide.scheduling.snapshot import Pending, Running, Snapshot


class FirstCome:
    """In the order of submission; with `backfill` a job that does not fit holds up nobody behind it."""

    def __init__(self, snapshot: Snapshot, *, backfill: bool) -> None:
        self._fleet, self._backfill = Fleet(snapshot.nodes), backfill
        self._queue: list[Pending] = []
        self._running: dict[str, Start] = {}

    def wait(self, wanted: Pending) -> None:
        insort(self._queue, wanted, key=lambda one: (one.job.submitted, one.job.id))

    def leave(self, job_id: str) -> None:
        self._fleet.release(job_id, self._running.pop(job_id).seats)

    def change(self, running: Running) -> None:
        pass

    def plan(self, now: float) -> Plan:
        starts, left = [], []
        for number, wanted in enumerate(self._queue):
            shape = self._fleet.shape(wanted)
            spread = self._fleet.find(shape, lambda _: True)
            if spread is None:
                left.append(wanted)
                if self._backfill:
                    continue
                left += self._queue[number + 1 :]
                break
            seats = self._fleet.take(wanted.job.id, wanted.job.size, spread)
            starts.append(Start(wanted.job.id, seats, "free"))
            self._running[wanted.job.id] = starts[-1]
        self._queue = left
        return Plan(tuple(starts))
