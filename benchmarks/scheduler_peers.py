"""What the scheduler is compared with: strict first come first served, and best fit that fills every gap."""

from __future__ import annotations

from bisect import insort
from collections import defaultdict

from millpond.decide.scheduling.fleet import Fleet
from millpond.decide.scheduling.plan import Plan, Standing, Start
from millpond.decide.scheduling.shares import Claimant, default_weight, divide_shares
from millpond.decide.scheduling.snapshot import WHOLE, Job, Pending, Running, Snapshot


class FirstCome:
    """In the order of submission; with `backfill` a job that does not fit holds up nobody behind it.

    It knows nothing of shares; its plans tell what they would be, so that all are measured alike.
    """

    def __init__(self, snapshot: Snapshot, *, backfill: bool) -> None:
        self._fleet, self._backfill = Fleet(snapshot.nodes), backfill
        self._quotas = {project.name: project.quotas[""] for project in snapshot.projects}
        self._capacity = sum(node.gpus for node in snapshot.nodes) * WHOLE
        self._queue: list[Pending] = []
        self._running: dict[str, tuple[Job, Start]] = {}
        # By project: what its running and waiting jobs ask for, and what the running ones hold.
        self._demand: dict[str, int] = defaultdict(int)
        self._held: dict[str, int] = defaultdict(int)

    def wait(self, wanted: Pending) -> None:
        insort(self._queue, wanted, key=lambda one: (one.job.submitted, one.job.id))
        self._demand[wanted.job.project] += wanted.job.size.gpus

    def leave(self, job_id: str) -> None:
        job, start = self._running.pop(job_id)
        self._fleet.release(job_id, start.seats)
        self._demand[job.project] -= job.size.gpus
        self._held[job.project] -= job.size.gpus

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
            job = wanted.job
            start = Start(job.id, self._fleet.take(job.id, job.size, spread), "free")
            starts.append(start)
            self._running[job.id] = job, start
            self._held[job.project] += job.size.gpus
        self._queue = left
        return Plan(tuple(starts), standings=self._standings())

    def _standings(self) -> tuple[Standing, ...]:
        claimants = [
            Claimant(name, quota, default_weight(quota), min(self._capacity, self._demand[name]))
            for name, quota in self._quotas.items()
        ]
        shares = divide_shares(self._capacity, claimants)
        return tuple(
            Standing(one.name, "", one.quota, one.weight, shares[one.name], self._held[one.name], one.demand)
            for one in claimants
        )
