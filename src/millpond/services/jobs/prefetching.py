"""Bringing the data of waiting jobs to where they are likely to run, before they take GPUs there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from millpond.db import jobs
from millpond.decide.offers import is_begun
from millpond.model.volume import Volume
from millpond.services.deps import Deps
from millpond.services.jobs import job_data
from millpond.services.jobs.job_data import NotBegun
from millpond.services.jobs.loaded import Block, Loaded
from millpond.services.jobs.scored_jobs import ScoredJobs
from millpond.services.jobs.snapshot import commits_of_spec

# The jobs next in line whose data is looked after: more would fill volumes with what is needed much later.
_NEXT = 50


def prefetch_waiting(
    deps: Deps, loaded: Loaded, scored: ScoredJobs, started: Collection[str], now: datetime
) -> dict[tuple[str, str], Block]:
    """Begin fills for the next jobs in line; by job and zone, why data cannot be brought there.

    Jobs that share data go to the same place if nothing speaks against it: what was begun for one counts for the next.
    """
    zones = {zone.name: compute_id for compute_id, zone in sorted(loaded.world.zones.items(), reverse=True)}
    promised: dict[str, set[str]] = defaultdict(set)
    refused: dict[tuple[str, str], Block] = {}
    for row in _next_in_line(loaded, started):
        if not commits_of_spec(loaded.specs[row.class_key]):
            continue
        target = scored.waiting_table(row, promised).target
        if target is None or not target.offer.fill.bytes:
            continue
        compute_id = zones[target.offer.zone]
        wanted = scored.queued(row, scored.choices(row)[target.offer.order].spec)
        if is_begun(wanted, loaded.world.zones[compute_id]):
            continue
        problem = _begin(deps, row.id, loaded.world.volumes.get(compute_id, ()), now)
        if problem is None:
            promised[target.offer.zone] |= {need.commit_id for need in wanted.needs}
        else:
            refused[row.id, target.offer.zone] = Block(problem.rule, problem.words)
    return refused


def _next_in_line(loaded: Loaded, started: Collection[str]) -> list[Any]:
    rows = [row for row in loaded.waiting if row.id not in started and row.id not in loaded.held]
    return sorted(rows, key=lambda row: (-row.priority, row.queued_at, row.id))[:_NEXT]


def _begin(deps: Deps, job_id: str, candidates: Sequence[Volume], now: datetime) -> NotBegun | None:
    with deps.db.read() as tx:
        job = jobs.get(tx, job_id)
    return job_data.begin_fills(deps, job, candidates, now) if job else None
