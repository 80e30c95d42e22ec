"""From a snapshot to a plan, at once or kept up to date event by event: both give the same plan."""

from __future__ import annotations

from collections import defaultdict

from millpond.decide.scheduling.accounts import Account
from millpond.decide.scheduling.fleet import Fleet
from millpond.decide.scheduling.phases import make_plan
from millpond.decide.scheduling.plan import Plan, Preemption, Standing, Start
from millpond.decide.scheduling.pool import Pool, whole_pool
from millpond.decide.scheduling.shares import default_weight
from millpond.decide.scheduling.snapshot import WHOLE, Pending, Project, Reservation, Running, Snapshot


def plan(snapshot: Snapshot) -> Plan:
    """Equal snapshots give equal plans, in any process, whatever the order of what they hold."""
    return Planner(snapshot).plan(snapshot.now)


class Planner:
    """The pools of a snapshot. Tell it what happens, and plan again: a plan counts as followed when it is made.

    Jobs that a plan preempts are gone from it; `wait` tells it when they are queued again.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._rebalance = snapshot.rebalance
        self.pools = [_load(snapshot, name) for name in snapshot.pools]
        for wanted in snapshot.pending:
            if wanted.held is None:
                self.wait(wanted)
        for pool in self.pools:
            pool.keep(snapshot.reservations)

    def plan(self, now: float) -> Plan:
        """Pools are planned one after the other, by name; a job that several could run starts in the first that can."""
        starts: dict[str, Start] = {}
        preemptions: list[Preemption] = []
        reservations: list[Reservation] = []
        standings: list[Standing] = []
        for pool in self.pools:
            pool.begin(now)
            make_plan(pool, rebalance=self._rebalance)
            pool.finish()
            self._tell_others(pool)
            starts |= pool.starts
            preemptions += [Preemption(job, one.taker, one.rule) for job, one in pool.preempted.items()]
            reservations += pool.reservations.values()
            standings += _standings(pool)
        return Plan(
            tuple(starts[job] for job in sorted(starts)),
            tuple(sorted(preemptions, key=lambda one: one.job)),
            tuple(sorted(reservations, key=lambda one: one.job)),
            tuple(standings),
        )

    def wait(self, wanted: Pending) -> None:
        """A job is queued, for the first time or again."""
        for pool in self.pools:
            pool.forget(wanted.job.id)
            pool.wait(wanted)

    def leave(self, job_id: str) -> None:
        """A job ended, was deleted, or waits for something else than room."""
        for pool in self.pools:
            pool.forget(job_id)
            pool.leave(job_id)
            if job_id in pool.running:
                self._count_elsewhere(pool, pool.remove(job_id), -1)

    def change(self, running: Running) -> None:
        """A job that holds room has begun, or saved a checkpoint."""
        for pool in self.pools:
            if running.job.id in pool.running:
                pool.change(running)

    def _tell_others(self, planned: Pool) -> None:
        for job_id in planned.starts:
            for pool in self.pools:
                if pool is not planned:
                    pool.leave(job_id)
            self._count_elsewhere(planned, planned.running[job_id], 1)

    def _count_elsewhere(self, pool: Pool, running: Running, sign: int) -> None:
        for other in self.pools:
            if other is not pool:
                account = other.accounts[running.job.project]
                account.elsewhere += sign * running.job.size.gpus
                account.jobs_elsewhere += sign


def _load(snapshot: Snapshot, name: str) -> Pool:
    fleet = Fleet(node for node in snapshot.nodes if node.pool == name)
    capacity = whole_pool(fleet)
    pool = Pool(name, fleet, _accounts(snapshot, name, capacity), capacity)
    inside = []
    elsewhere: dict[str, int] = defaultdict(int)
    for running in snapshot.running:
        if any(seat.node in fleet.rooms for seat in running.seats):
            inside.append(running)
        else:
            elsewhere[running.job.project] += running.job.size.gpus
            pool.accounts[running.job.project].jobs_elsewhere += 1
    for project, gpus in elsewhere.items():
        pool.accounts[project].elsewhere = gpus
    pool.load(inside)
    for running in snapshot.ending:
        if any(seat.node in fleet.rooms for seat in running.seats):
            pool.end(running)
    return pool


def _accounts(snapshot: Snapshot, pool: str, capacity: int) -> dict[str, Account]:
    """While no project has a quota in this pool, each has all of it, and they weigh the same."""
    free = not any(project.quotas.get(pool) for project in snapshot.projects)
    known = sorted(snapshot.projects, key=lambda project: project.name)
    return {project.name: _account(project, pool, capacity if free else None) for project in known}


def _account(project: Project, pool: str, whole: int | None) -> Account:
    quota = project.quotas.get(pool, 0) if whole is None else whole
    default = default_weight(quota) if whole is None else WHOLE
    return Account(project, quota, default if project.weight is None else project.weight)


def _standings(pool: Pool) -> list[Standing]:
    return [
        Standing(
            account.name, pool.name, account.quota, account.weight, account.share, account.allocated,
            account.claimant(pool.capacity).demand,
        )
        for account in pool.accounts.values()
    ]  # fmt: skip
