"""The exchange with agents: take everything one sees, answer with everything that is wanted of it.

Level-triggered (docs/design/003-agent-protocol.md): an exchange that is lost, late or made twice changes nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from logging import getLogger
from typing import Any

from sqlalchemy import Connection, null

from millpond.db import agents, computes, jobs, nodes, placements, runs
from millpond.db.batches import batches
from millpond.decide import job_life
from millpond.decide.job_life import Report
from millpond.errors import Conflict, CredentialRevoked, NotSignedIn
from millpond.model.agent import Agent
from millpond.model.compute import Node
from millpond.model.job import Job, Placement, PlacementState, Rank, RankState
from millpond.model.names import OUTPUT_DATASET
from millpond.model.people import Actor
from millpond.services.caches import near_outputs
from millpond.services.caches.fills import desired as desired_fills
from millpond.services.caches.fills import reports as cache_reports
from millpond.services.computes import compute_tests, presence, workspaces
from millpond.services.computes.desired import desired_placements
from millpond.services.computes.joining import check_protocol
from millpond.services.computes.presence import is_connected
from millpond.services.deps import Deps
from millpond.services.endpoints import service_reports
from millpond.services.endpoints.service_reports import ServiceWord
from millpond.services.jobs import job_changes, tunnel_calls
from millpond.services.jobs.placements import leave_alone
from millpond.services.lake import stores
from millpond.services.people.tokens import reattach
from millpond.services.runs import logs
from millpond.wire.desired import Desired
from millpond.wire.observed import NodeFacts, Observed, PlacementSeen

logger = getLogger(__name__)

# Reports that are written together.
_AT_ONCE = 50
# How much of an agent's word for its process is kept.
_INSTANCE = 64


def observe(deps: Deps, actor: Actor, observed: Observed) -> Agent:
    """Take what the agent sees. Reports about placements that are over are ignored: it forgets them by itself."""
    check_protocol(observed.protocol, observed.version)
    now = deps.clock.now()
    agent = _hello(deps, actor, observed, now)
    if _is_another(agent, observed):
        _note_lost(deps, agent, observed, now)
    # Somebody may be waiting for what is ready. What went is taken after the list of what is there, which may be older.
    cache_reports.observe_fills(deps, agent, [fill for fill in observed.fills if fill.state == "ready"])
    cache_reports.observe_volumes(deps, agent, observed.volumes)
    cache_reports.observe_fills(deps, agent, [fill for fill in observed.fills if fill.state != "ready"])
    workspaces.observe(deps, agent, observed.workspaces)
    stores.observe(deps, agent, {one.store: one.problem for one in observed.stores})
    # The last word of a service that ended is taken before its end.
    service_reports.observe_services(deps, agent, _words(observed.placements), now)
    _observe_placements(deps, agent, observed.placements, now)
    return agent


def desired(deps: Deps, agent: Agent, observed: Observed) -> Desired:
    """Everything wanted of the agent that sees this now. Equal wishes have equal revisions, whichever server is asked.

    Conflict once another process speaks with its credential: both would run the same jobs.
    """
    # One transaction for all of it: hundreds of agents ask, and each time most of it is nothing.
    with deps.db.read() as tx:
        attached = _attached(tx, agent)
        if attached.instance != observed.instance[:_INSTANCE]:
            raise _replaced(agent)
        volumes, fills = desired_fills.desired_for(deps, agent, tx)
        grants = desired_fills.grants_for(deps, agent, tx) if attached.peer is not None else []
        limits = desired_fills.limits_for(deps, agent, tx)
        tried = list(stores.wanted_at(deps, agent.site_id, tx))
        wanted = desired_placements(
            tx, agent, deps.secret, deps.seal, log_bytes=deps.settings.log_bytes, told=_told(observed)
        )
        trials = compute_tests.wanted(tx, agent.compute_id, deps.clock.now())
        tunnels = tunnel_calls.waiting_for(deps, tx, agent)
        in_reach = workspaces.desired(tx, deps, agent)
    answer = Desired(
        revision="",
        agent_id=agent.id,
        site=agent.site,
        volumes=volumes,
        fills=fills,
        placements=wanted,
        trials=trials,
        tunnels=tunnels,
        grants=grants,
        stores=tried,
        limits=limits,
        workspaces=in_reach,
        word_seconds=presence.WORD.total_seconds(),
        server_time=deps.clock.now(),
    )
    return answer.model_copy(update={"revision": _revision(answer)})


def still_there(deps: Deps, agent: Agent, instance: str) -> None:
    """Note that the agent is waiting for an answer. Conflict once another process speaks with its credential."""
    with deps.db.write() as tx:
        _attached(tx, agent)
        if agents.still_there(tx, agent.id, instance=instance[:_INSTANCE], now=deps.clock.now()):
            return
    raise _replaced(agent)


def _attached(tx: Connection, agent: Agent) -> Agent:
    """The agent as it is now. CredentialRevoked for one that was let go while it waited for an answer."""
    known = agents.get(tx, agent.id)
    if known is None or known.revoked_at is not None:
        why = "revoked" if known is not None else "revoked: the compute is detached"
        raise CredentialRevoked(
            f"Credential of compute {agent.compute} {why}.", hint=reattach(agent.compute if known else None)
        )
    return known


def _is_another(known: Agent, observed: Observed) -> bool:
    """Whether another process than this one was heard of last."""
    return known.instance is not None and known.instance != observed.instance[:_INSTANCE]


def _was_replaced(known: Agent, observed: Observed, now: datetime) -> bool:
    """Whether another process has come since this one was first answered. The newest counts, because an agent that was
    killed is started again at once. A database brought back from a copy names one that was heard of long ago."""
    return _is_another(known, observed) and bool(observed.seen_revision) and is_connected(known.seen_at, now)


def _replaced(agent: Agent) -> Conflict:
    return Conflict(
        f"Another process has taken the place of the agent of {agent.compute}.",
        hint="Run one agent per credential, and give each its own name.",
    )


def _told(observed: Observed) -> set[str]:
    return {one.id for one in observed.placements}


def _note_lost(deps: Deps, agent: Agent, observed: Observed, now: datetime) -> None:
    """Tell jobs that a new process of their agent does not know of what that means for them."""

    def why(within: str) -> str:
        return (
            f"{agent.compute} no longer knows this job: its disk was wiped, or another agent uses its "
            f"credential. If it still runs there, it ends within {within} and is then placed again."
        )

    with deps.db.write() as tx:
        living = placements.living_of_agent(tx, agent.id)
        lost = [one for one in living if one.state.has_begun and one.id not in _told(observed)]
        changed = leave_alone(tx, lost, why, now)
    job_changes.announce(deps, changed)


def _hello(deps: Deps, actor: Actor, observed: Observed, now: datetime) -> Agent:
    with deps.db.write() as tx:
        known = agents.get(tx, actor.agent_id or "")
        if known is None:
            raise NotSignedIn("This agent is no longer known.")
        if _was_replaced(known, observed, now):
            raise _replaced(known)
        version, instance = observed.version[:40], observed.instance[:_INSTANCE]
        agents.seen(
            tx, known.id, version=version, instance=instance, peer=observed.peer, heard_by=deps.server_id, now=now
        )
        changed = _describe(tx, known, observed)
        changed |= nodes.report(tx, known.id, known.compute_id, _nodes(known.compute_id, observed.nodes), now)
        placements.renew(tx, known.id, _told(observed), now)
    if known.heard_by != deps.server_id:
        deps.repeats.forget(known.id)
    if changed or known.instance != observed.instance or not is_connected(known.seen_at, now):
        gpus = sum(node.gpus for node in observed.nodes)
        logger.info("agent_connected compute=%s version=%s gpus=%s", known.compute, observed.version, gpus or "none")
        deps.events.publish("computes", project_id=None, data={"id": known.compute_id, "what": "changed"})
        deps.events.wake("schedule")
    return known


def _describe(tx: Connection, agent: Agent, observed: Observed) -> bool:
    """Keep what the agent tells of its compute's driver; True if that is news."""
    compute, driver, able = computes.get(tx, agent.compute_id), observed.driver[:20], _capabilities(observed)
    if compute is not None and (compute.driver, compute.capabilities) == (driver, able):
        return False
    computes.change(tx, agent.compute_id, driver=driver, capabilities=null() if able is None else able)
    return True


def _capabilities(observed: Observed) -> dict[str, Any] | None:
    return None if observed.capabilities is None else observed.capabilities.model_dump()


def _nodes(compute_id: str, facts: Sequence[NodeFacts]) -> list[Node]:
    by_name = {fact.name[:200]: fact for fact in facts}
    return [
        Node(
            compute_id=compute_id,
            name=name,
            cpus=fact.cpus,
            memory_bytes=fact.memory_bytes,
            gpus=fact.gpus,
            gpu_model=fact.gpu_model[:200],
            gpu_memory_bytes=fact.gpu_memory_bytes,
            declared=fact.declared,
            labels=fact.labels,
            closed=fact.closed[:500] if fact.closed else None,
        )
        for name, fact in sorted(by_name.items())
    ]


def _observe_placements(deps: Deps, agent: Agent, seen: Sequence[PlacementSeen], now: datetime) -> None:
    with deps.db.read() as tx:
        living = {placement.id: placement for placement in placements.living_of_agent(tx, agent.id)}
        told = [(living[report.id], report) for report in seen if report.id in living]
        told = [(placement, report) for placement, report in told if not _is_as_known(placement, report)]
        known = jobs.by_ids(tx, [placement.job_id for placement, _ in told])
    news: list[tuple[Placement, PlacementSeen]] = []
    for placement, report in told:
        job = known.get(placement.job_id)
        if job is None or not _says_something_new(job, placement, report, now):
            continue
        if report.state == "finished":
            logs.make_durable(deps, job, placement.id)
        news.append((placement, report))
    # Many at once: a transaction for each would be most of what five hundred short jobs cost. Always in one order, so
    # that two servers do not wait for each other.
    news.sort(key=lambda one: one[0].job_id)
    changed: list[Job] = []
    for batch in batches(news, _AT_ONCE):
        with deps.db.write() as tx:
            after = [_observe_placement(tx, placement, report, now) for placement, report in batch]
        changed += [job for job in after if job is not None]
    for job in changed:
        logger.info("job_changed job=%s state=%s", job.id, job.status.state.value)
    job_changes.announce(deps, changed)
    near_outputs.keep_near(deps, agent, changed, now)


def _words(seen: Sequence[PlacementSeen]) -> dict[str, ServiceWord]:
    return {one.id: ServiceWord(one.service.ready, one.service.stats) for one in seen if one.service is not None}


def _is_as_known(placement: Placement, seen: PlacementSeen) -> bool:
    """Whether it goes on as was told before: most of hundreds do, and then not even their jobs are looked at."""
    state = PlacementState(seen.state)
    is_running = state is placement.state is PlacementState.RUNNING and placement.started_at is not None
    return is_running and placement.ranks == _ranks(seen)


def _says_something_new(job: Job, placement: Placement, seen: PlacementSeen, now: datetime) -> bool:
    """Agents repeat what is known: only news are worth a write transaction."""
    is_new_state = placement.state is not PlacementState(seen.state) or placement.ranks != _ranks(seen)
    return is_new_state or (not job.status.state.is_finished and job_life.observe(job, _report(seen), now) != job)


def _observe_placement(tx: Connection, placement: Placement, seen: PlacementSeen, now: datetime) -> Job | None:
    """The job if the report changed it."""
    job = jobs.lock(tx, placement.job_id)
    if job is None or job.status.state.is_finished or job.status.placement_id != placement.id:
        return None
    if not placements.advance(tx, placement.id, PlacementState(seen.state)):
        return None
    if seen.ranks:
        placements.note_ranks(tx, placement.id, _ranks(seen))
    report = _checked(tx, job, _report(seen))
    after = job_life.observe(job, report, now)
    _note_attempt(tx, placement, job, after, report, now)
    _note_image(tx, job, report.image_digest)
    return after if job_changes.save(tx, job, after, now) else None


def _note_attempt(
    tx: Connection, placement: Placement, before: Job, after: Job, report: Report, now: datetime
) -> None:  # fmt: skip
    """What is told of this attempt stays when the job is tried again."""
    started_at = after.status.started_at or (
        report.started_at and min(max(report.started_at, placement.created_at), now)
    )
    if started_at is not None and placement.started_at is None:
        placements.note_start(tx, placement.id, started_at)
    if report.state is not PlacementState.FINISHED:
        return
    ending, said = job_life.ending_of(before, report)
    exited_at = min(max(report.exited_at or now, started_at or now), now)
    placements.note_end(
        tx, placement.id, ending=ending, problem=said if ending else None, now=exited_at,
        exit_code=report.exit_code, signal=report.signal,
    )  # fmt: skip


def _note_image(tx: Connection, job: Job, digest: str | None) -> None:
    """Which image the job ran in belongs to the origin of its run: its name may stand for another one tomorrow."""
    run_id = runs.id_of_job(tx, job.id) if digest is not None else None
    if run_id is None or runs.lock(tx, run_id) is None:
        return
    known = runs.record(tx, run_id)
    if known.origin.get("image_digest") != digest:
        origin = {**known.origin, "image": job.spec.image, "image_digest": digest}
        runs.save_record(tx, run_id, replace(known, origin=origin))


def _report(seen: PlacementSeen) -> Report:
    return Report(
        state=PlacementState(seen.state),
        started_at=seen.started_at,
        exited_at=seen.exited_at,
        exit_code=seen.exit_code,
        signal=seen.signal,
        reason=seen.reason,
        problem=seen.problem,
        output_commit=seen.output_commit,
        checkpoint_problem=seen.checkpoint_problem[:500] if seen.checkpoint_problem else None,
        waiting=seen.waiting[:500] if seen.waiting else None,
        failed_rank=seen.failed_rank,
        step_made=seen.step_made,
        image_digest=seen.image_digest[:100] if seen.image_digest else None,
    )


def _ranks(seen: PlacementSeen) -> tuple[Rank, ...]:
    return tuple(Rank(one.rank, RankState(one.state), one.node[:200], one.exit_code, one.signal) for one in seen.ranks)


def _checked(tx: Connection, job: Job, report: Report) -> Report:
    """Outputs count only if they are a commit of this project's outputs."""
    commit = report.output_commit
    if commit is None or placements.commit_is_in(tx, commit, project_id=job.project_id, dataset_name=OUTPUT_DATASET):
        return report
    return replace(report, output_commit=None, problem="The outputs that the agent reported are not in the lake.")


def _revision(answer: Desired) -> str:
    body = answer.model_dump_json(exclude={"revision", "server_time"})
    return hashlib.sha256(body.encode()).hexdigest()[:32]
