"""Under which rule each pending job waits after a plan. One look for a line of equal jobs; words are `explain`'s."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from millpond.decide.scheduling import rules
from millpond.decide.scheduling.accounts import Account, Line
from millpond.decide.scheduling.planner import Planner
from millpond.decide.scheduling.pool import Pool
from millpond.decide.scheduling.room import Room
from millpond.decide.scheduling.snapshot import Node, Pending, Place, Size, Snapshot

NO_FIT, AFFINITY, AWAY = "no-fit", "affinity", "away"
RESERVATION, FRAGMENTED, ORDER = "reservation", "fragmented", "order"


def waiting_rules(planner: Planner, snapshot: Snapshot) -> Mapping[str, str]:
    """By job, for every one that is still pending after `planner.plan`. A job of several pools waits in the first."""
    found: dict[str, str] = {}
    for pool in reversed(planner.pools):
        free = sum(sum(room.free) for room in pool.fleet.open_rooms(None))
        for account in pool.accounts.values():
            for line in account.lines.values():
                rule = waiting_rule(pool, account, line, free)
                found.update((wanted.job.id, rule) for wanted in line.jobs)
    started = {job_id for pool in planner.pools for job_id in pool.starts}
    classify = cache(lambda size, requires, places: _nowhere(snapshot.nodes, size, requires, places))
    for wanted in snapshot.pending:
        job_id = wanted.job.id
        if job_id not in found and job_id not in started:
            found[job_id] = wanted.held or classify(wanted.job.size, wanted.requires, wanted.places)
    return found


def why_nowhere(nodes: tuple[Node, ...], wanted: Pending) -> str:
    """Why no open node could run it, even when empty: no-fit, affinity or away."""
    return _nowhere(nodes, wanted.job.size, wanted.requires, wanted.places)


def waiting_rule(pool: Pool, account: Account, line: Line, free: int) -> str:
    """Of a line after a plan; `free` is what is free in the pool."""
    obstacle = rules.obstacle(account, line, pool.now)
    if obstacle is not None:
        return obstacle
    if pool.reservations and pool.fleet.find(line.shape, lambda room: True) is not None:
        return RESERVATION
    return FRAGMENTED if free >= line.gpus > 0 else ORDER


def _nowhere(
    nodes: tuple[Node, ...], size: Size, requires: frozenset[str], places: tuple[Place, ...] | None
) -> str:  # fmt: skip
    large = [node for node in nodes if Room(node, 0).fits_empty(size)]
    if not large:
        return NO_FIT
    zones = None if places is None else {place.zone for place in places}
    suiting = [node for node in large if requires <= node.offers and (zones is None or node.zone in zones)]
    if not suiting:
        return AFFINITY
    return AWAY if any(not node.open for node in suiting) else NO_FIT
