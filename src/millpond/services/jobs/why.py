"""Why a job is in its state: the rule, who stands in the way, when it may start. Words are made here, when asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from sqlalchemy import Connection

from millpond.db import agents, computes, job_events, jobs, placements
from millpond.decide.job_events import JobEvent, state_events
from millpond.decide.job_events import job_events as derived_events
from millpond.decide.obstacles import obstacles
from millpond.decide.scheduling.explain import Blocker, Explanation, explain
from millpond.decide.scheduling.plan import Plan
from millpond.decide.scheduling.planner import Planner
from millpond.decide.scheduling.snapshot import Snapshot
from millpond.decide.score_table import PlaceScore
from millpond.decide.wait_words import shown_reasons, words_of
from millpond.model.documents import from_document
from millpond.model.job import Job, JobState
from millpond.model.job_spec import JobKind
from millpond.model.people import Actor, Project
from millpond.model.quantity import format_seconds
from millpond.services.computes.presence import is_connected
from millpond.services.deps import Deps
from millpond.services.jobs import plan_input
from millpond.services.jobs.jobs import find
from millpond.services.jobs.loaded import WITH_WORDS, Loaded, load
from millpond.services.jobs.placements import is_forever, runs_out_after
from millpond.services.people import access

# Rules about nodes: each is told what it lacks.
_ABOUT_NODES = frozenset({"order", "fragmented", "no-fit", "affinity", "away"})


@dataclass(frozen=True, slots=True)
class Holder:
    """A job that holds what another needs. Of a project that may not be seen, only how much it holds."""

    id: str | None
    job: str | None
    project: str | None
    gpus: int  # hundredths
    over_quota: bool
    ends_at: datetime | None


@dataclass(frozen=True, slots=True)
class WhyView:
    state: JobState
    rule: str | None
    reasons: Sequence[str]
    blockers: Sequence[Holder] = ()
    earliest_start: datetime | None = None
    nominated_on: str | None = None
    # What each place costs, or cost when it was placed.
    places: Sequence[PlaceScore] = ()


def why(deps: Deps, actor: Actor, project: Project, text: str) -> WhyView:
    """Of a queued job the plan is made anew, so that the answer is of this moment."""
    with deps.db.read() as tx:
        job = find(tx, project, text)
        if job.status.state is not JobState.QUEUED:
            reasons = [*_history(tx, actor, job), *_silence(deps, tx, job)]
            return WhyView(job.status.state, job.status.rule, reasons, places=_scores(tx, job))
        loaded = load(tx, deps.clock.now(), deps.settings)
        planned = plan_input.plan_input(loaded)
        row = next((row for row in loaded.waiting if row.id == job.id), None)
        places = planned.scored.shown(row) if row is not None else ()
        if job.id not in loaded.rows or job.status.rule in WITH_WORDS:
            return WhyView(job.status.state, job.status.rule, shown_reasons(job), places=places)
        burst = planned.plan()
        snapshot, plan = burst.snapshot, burst.plan
        found = explain(snapshot, plan, job.id)
        names = _names(tx, actor, {*(one.job for one in found.blockers), *_reserved_for(plan)})
        view = _waiting(job, loaded, snapshot, plan, found, names, _history(tx, actor, job))
        return replace(view, places=places)


def events(deps: Deps, actor: Actor, project: Project, text: str) -> list[JobEvent]:
    """Every change of its state, oldest first."""
    with deps.db.read() as tx:
        job = find(tx, project, text)
        changes, attempts = job_events.of_job(tx, job.id), placements.of_job(tx, job.id)
        if not changes:
            return derived_events(job, attempts, computes.names(tx, {one.compute_id for one in attempts}))
        takers = {change.by for change in changes if change.by and change.after is JobState.PREEMPTED}
        return state_events(job, changes, attempts, _names(tx, actor, takers))


def _waiting(
    job: Job,
    loaded: Loaded,
    snapshot: Snapshot,
    plan: Plan,
    found: Explanation,
    names: Mapping[str, str],
    history: Sequence[str],
) -> WhyView:
    starts = {start.job for start in plan.starts}
    rule = found.rule
    reasons = [*(_named(reason, plan, names) for reason in found.reasons)]
    if rule in _ABOUT_NODES and job.id not in starts:
        about = _about_nodes(job, loaded, snapshot)
        # Of a job without GPUs, shares tell nothing.
        reasons = [*(reasons if job.spec.gpus else []), *about] or reasons
    nodes = [node.partition("/")[2] or node for node in found.nominated_on] if rule == "nominated" else []
    return WhyView(
        job.status.state,
        rule,
        [*history, *(f"Waiting: {reason}" for reason in reasons or [words_of(rule)])],
        [_holder(one, names) for one in found.blockers],
        None if found.earliest_start is None else datetime.fromtimestamp(found.earliest_start, UTC),
        ", ".join(nodes) or None,
    )


def _silence(deps: Deps, tx: Connection, job: Job) -> list[str]:
    """Of a job that was given to an agent which is not heard of: since when, and what happens when."""
    placement = placements.newest_of_job(tx, job.id)
    if placement is None or placement.id != job.status.placement_id:
        return []
    agent, now = agents.get(tx, placement.agent_id), deps.clock.now()
    if agent is None or agent.seen_at is None or is_connected(agent.seen_at, now):
        return []
    silent = (now - agent.seen_at).total_seconds()
    if is_forever(placement):
        return [
            f"The agent of {agent.compute} has been silent for {format_seconds(silent)}; the service goes on there "
            "and is not started elsewhere."
        ]
    left = (
        runs_out_after(placement.valid_seconds, placement.grace_seconds) - (now - placement.renewed_at).total_seconds()
    )
    after = f"in about {format_seconds(left)}" if left > 0 else "within moments"
    return [
        f"The agent of {agent.compute} has been silent for {format_seconds(silent)}; the job may still run there. "
        f"If the agent stays away, the job ends by itself and is placed again {after}: placements at site {agent.site} "
        f"last {format_seconds(placement.valid_seconds)} without word from the server."
    ]


def _scores(tx: Connection, job: Job) -> list[PlaceScore]:
    """What each place cost when it was placed last."""
    placement = placements.newest_of_job(tx, job.id)
    return [from_document(PlaceScore, one) for one in placement.scores] if placement else []


def _about_nodes(job: Job, loaded: Loaded, snapshot: Snapshot) -> Sequence[str]:
    shares = loaded.projects[job.project_id].shares
    affinity = shares.interactive_affinity if job.spec.kind is JobKind.INTERACTIVE else shares.train_affinity
    rooms = {node: room for pool in Planner(snapshot).pools for node, room in pool.fleet.rooms.items()}
    world = loaded.world
    return obstacles(world.queued(job), world.nodes.values(), world.zones, rooms, lacking=sorted(affinity.items()))


def _history(tx: Connection, actor: Actor, job: Job) -> list[str]:
    """What has happened so far; for whom it was preempted last."""
    reasons = list(shown_reasons(replace(job, status=replace(job.status, rule=None))))
    changes = [one for one in job_events.of_job(tx, job.id) if one.after is JobState.PREEMPTED]
    if not changes:
        return reasons
    told = state_events(job, changes[-1:], (), _names(tx, actor, {changes[-1].by or ""}))[0]
    return [*reasons, f"Preempted at {told.at:%H:%M:%S} UTC {told.why} ({told.rule})."]


def _names(tx: Connection, actor: Actor, job_ids: set[str]) -> Mapping[str, str]:
    """How jobs are written, of those that the actor may see."""
    visible = access.visible_projects(actor)
    found = jobs.by_ids(tx, job_ids)
    return {
        job.id: f"{job.project}/{job.name}"
        for job in found.values()
        if visible is None or job.project_id in visible
    }  # fmt: skip


def _reserved_for(plan: Plan) -> set[str]:
    return {one.job for one in plan.reservations}


def _named(reason: str, plan: Plan, names: Mapping[str, str]) -> str:
    """A reason with names in place of ids."""
    for job_id in _reserved_for(plan):
        reason = reason.replace(f"job {job_id}", names.get(job_id, "a job of another project"))
    return reason


def _holder(one: Blocker, names: Mapping[str, str]) -> Holder:
    written = names.get(one.job)
    return Holder(
        one.job if written else None,
        written,
        one.project if written else None,
        one.gpus,
        one.over_quota,
        None if one.ends is None else datetime.fromtimestamp(one.ends, UTC),
    )
