"""The waiting line after a plan: in which order jobs are next, under which rule each waits, when it may start."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from heapq import heapify, heappop, heappush
from math import inf

from millpond.decide.scheduling.accounts import Account
from millpond.decide.scheduling.explain import earliest_start
from millpond.decide.scheduling.planner import Planner
from millpond.decide.scheduling.pool import Pool
from millpond.decide.scheduling.snapshot import Pending, Running, Snapshot
from millpond.decide.scheduling.waits import waiting_rules


@dataclass(frozen=True, slots=True)
class Waiting:
    """`expected` is the latest start by the time limits of what runs; None where one has none."""

    job: str
    rule: str
    expected: float | None = None


def waiting_line(planner: Planner, snapshot: Snapshot) -> list[Waiting]:
    """Every job that is still pending after `planner.plan`, the next one first.

    Nominated jobs lead. Then claims by first submission, then the project with the least per weight, as if each job
    before had started. Jobs that could start nowhere, or wait for something else than room, are last.
    """
    nominated = sorted((one for one in snapshot.running if one.nominated), key=_since)
    rules = waiting_rules(planner, snapshot)
    ordered = [Waiting(one.job.id, "nominated", snapshot.now) for one in nominated]
    seen: set[str] = set()
    for pool in planner.pools:
        expected = cache(partial(earliest_start, pool))
        for wanted in _in_order(pool):
            if wanted.job.id not in seen:
                seen.add(wanted.job.id)
                start = expected(wanted.job.size, wanted.requires)
                ordered.append(Waiting(wanted.job.id, rules[wanted.job.id], start))
    last = [one for one in snapshot.pending if one.job.id in rules and one.job.id not in seen]
    last.sort(key=lambda one: (one.job.submitted, one.job.id))
    return [*ordered, *(Waiting(one.job.id, rules[one.job.id]) for one in last)]


def _in_order(pool: Pool) -> list[Pending]:
    claims: list[Pending] = []
    rest: dict[str, list[Pending]] = {}
    held = {name: account.allocated for name, account in pool.accounts.items()}
    for name, account in pool.accounts.items():
        for wanted in _own_order(account):
            gpus = wanted.job.size.gpus
            if held[name] + gpus <= account.quota:
                held[name] += gpus
                claims.append(wanted)
            else:
                rest.setdefault(name, []).append(wanted)
    claims.sort(key=lambda one: (one.job.submitted, one.job.rank))
    return [*claims, *_in_turn(rest, held, lambda name: pool.accounts[name].weight)]


def _own_order(account: Account) -> list[Pending]:
    return sorted((one for line in account.lines.values() for one in line.jobs), key=lambda one: one.job.rank)


def _in_turn(
    rest: Mapping[str, list[Pending]], held: dict[str, int], weight: Callable[[str], int]
) -> list[Pending]:  # fmt: skip
    def usage(name: str) -> float:
        return held[name] / weight(name) if weight(name) else inf

    heap = [(usage(name), jobs[0].job.rank, name, 0) for name, jobs in rest.items()]
    heapify(heap)
    found = []
    while heap:
        _, _, name, index = heappop(heap)
        wanted = rest[name][index]
        found.append(wanted)
        held[name] += wanted.job.size.gpus
        if index + 1 < len(rest[name]):
            heappush(heap, (usage(name), rest[name][index + 1].job.rank, name, index + 1))
    return found


def _since(running: Running) -> tuple[float, str]:
    return (running.started, running.job.id)
