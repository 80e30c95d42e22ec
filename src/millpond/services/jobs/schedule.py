"""One round of the scheduler: take back what has run out, look after data, plan, carry the plan out, say who waits.

Load → plan → apply (docs/design/014). Servers may plan side by side: each step of applying counts up a number that was
read with the snapshot, so of two plans made at once the second finds itself out of date and is dropped.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from logging import getLogger

from millpond.db import jobs, scheduling
from millpond.decide.scheduling.bursts import Burst
from millpond.decide.scheduling.plan import Plan
from millpond.decide.scheduling.waits import waiting_rules
from millpond.decide.score import LOCALITY
from millpond.services.deps import Deps
from millpond.services.jobs import (
    apply_plan,
    environment_data,
    environments,
    job_data,
    placements,
    plan_input,
    prefetching,
    waiting,
)
from millpond.services.jobs.environments import Environments
from millpond.services.jobs.loaded import WITH_WORDS, Block, Loaded, load
from millpond.services.jobs.plan_input import PlanInput

logger = getLogger(__name__)

# Whether a volume has room is known only when asked, and another server may be faster: then it is planned anew.
_MAX_TRIES = 20
# Rules of jobs that wait for room, or for their data.
_ABOUT_ROOM = frozenset({"order", "fragmented", "reservation", "no-fit", "affinity", "away", "locality", "template"})
# Pages are told of so many jobs one by one; beyond that, of their projects.
_MANY = 50


def run_once(deps: Deps, now: datetime) -> None:
    placements.expire(deps, now)
    waiting.stop_overdue(deps, now)
    job_data.look_after(deps, now)
    start_jobs(deps, now)


def start_jobs(deps: Deps, now: datetime) -> Plan:
    """Start every queued job that may start now; the last plan made."""
    refused: dict[tuple[str, str], Block] = {}
    plan = Plan()
    with deps.db.read() as tx:
        if not scheduling.has_work(tx):
            return plan  # without a look at hundreds of nodes, each time that a job ends
    for _ in range(_MAX_TRIES):
        began = deps.clock.elapsed()
        loaded = _load(deps, now)
        packages = _environments(deps, loaded, now)
        if apply_plan.start_nominated(deps, loaded, packages, now):
            continue
        fetching = environment_data.fetch_environments(deps, loaded, packages, now)
        blocked = {**packages.blocked, **fetching, **_far_workspaces(loaded), **refused}
        found = plan_input.plan_input(loaded, blocked)
        burst = found.plan()
        plan = burst.plan
        outcome = apply_plan.apply_plan(deps, loaded, found, burst, packages, now)
        deps.measures.planned(deps.clock.elapsed() - began, preempted=outcome.preempted)
        refused |= outcome.refused
        if outcome.refused or outcome.is_stale:
            continue
        full = prefetching.prefetch_waiting(deps, loaded, found.scored, {start.job for start in plan.starts}, now)
        if full.keys() - refused.keys():
            refused |= full
            continue
        _note_waits(deps, loaded, rules_now(loaded, found, burst), blocked)
        return plan
    return plan


def _load(deps: Deps, now: datetime) -> Loaded:
    """Jobs that can never begin are ended first, and so are those that come after them."""
    while True:
        with deps.db.read() as tx:
            loaded = load(tx, now, deps.settings)
        if not loaded.never:
            return loaded
        waiting.cancel(deps, loaded.never, now)


def _environments(deps: Deps, loaded: Loaded, now: datetime) -> Environments:
    wanting = loaded.with_environment
    if not wanting:
        return environments.NO_ENVIRONMENTS
    with deps.db.read() as tx:
        found = jobs.by_ids(tx, wanting)
    packages = environments.look(deps, loaded.world, [found[job_id] for job_id in wanting if job_id in found])
    waiting.fail(deps, packages.failed, now)
    return packages


def rules_now(loaded: Loaded, found: PlanInput, burst: Burst) -> Mapping[str, Block]:
    """Under which rule each job waits. Where only room is missing, patience may be what it really waits for."""
    rules = waiting_rules(burst.planner, burst.snapshot)
    said: dict[str, Block] = {}
    for row in loaded.waiting:
        rule = rules.get(row.id)
        if rule is None:
            continue
        kept = found.scored.rule(row) if rule in _ABOUT_ROOM else None
        said[row.id] = kept or Block(rule, "")
    return said


def _far_workspaces(loaded: Loaded) -> dict[tuple[str, str], Block]:
    """Jobs whose workspaces lie on volumes that a compute does not see, with its zone."""
    found: dict[tuple[str, str], Block] = {}
    for row in (*loaded.waiting, *loaded.nominated):
        needed = {one.volume_id: one.workspace for one in loaded.specs[row.class_key].workspaces}
        for compute_id, zone in loaded.world.zones.items() if needed else ():
            seen = {volume.id for volume in loaded.world.volumes.get(compute_id, ())}
            far = next((name for volume_id, name in needed.items() if volume_id not in seen), None)
            if far is not None:
                words = f"{zone.node.compute} does not see the volume of workspace {far}."
                found[row.id, zone.name] = Block(LOCALITY, words)
    return found


def _note_waits(
    deps: Deps, loaded: Loaded, rules: Mapping[str, Block], blocked: Mapping[tuple[str, str], Block]
) -> None:  # fmt: skip
    """Keep under which rule each job waits; only what changed is written."""
    words = {job_id: block.words for (job_id, _), block in sorted(blocked.items(), reverse=True)}
    words |= {job_id: block.words for job_id, block in loaded.held.items()}
    changed = [
        (row, block.rule, said)
        for row in loaded.waiting
        if (block := rules.get(row.id)) is not None
        for said in (block.words or words.get(row.id) if block.rule in WITH_WORDS else None,)
        if (row.rule, row.waits_for) != (block.rule, said)
    ]
    if not changed:
        return
    with deps.db.write() as tx:
        scheduling.note_rules(tx, [(row.id, rule, said) for row, rule, said in changed])
    for row, _, _ in changed[:_MANY]:
        data = {"project": row.project, "id": row.id, "what": "changed", "name": row.name, "state": "queued"}
        deps.events.publish("jobs", project_id=row.project_id, data=data)
