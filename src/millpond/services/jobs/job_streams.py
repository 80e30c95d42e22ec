"""Checks who may open a stream to a job, and finds the agent that serves it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from millpond.db import computes, placements
from millpond.errors import BadRequest, NotReady
from millpond.model.compute import Compute
from millpond.model.job import Job, Placement, PlacementState
from millpond.model.people import Actor, Role
from millpond.services.deps import Deps
from millpond.services.jobs import idle, jobs
from millpond.services.jobs.tunnels import exec_wanted, port_wanted
from millpond.services.people import access, audit
from millpond.services.workspaces import in_jobs
from millpond.wire.desired import DesiredTunnel

_LAST_PORT = 65_535


@dataclass(frozen=True, slots=True)
class JobPlace:
    """A job to reach, and the rank if it is distributed."""

    project: str
    job: str
    rank: int = 0


@dataclass(frozen=True, slots=True)
class StreamTarget:
    """The agent that runs the job, and the request for it."""

    agent_id: str
    wanted: DesiredTunnel


def exec_target(
    deps: Deps, actor: Actor, place: JobPlace, command: Sequence[str], *, tty: bool, columns: int, rows: int
) -> StreamTarget:
    """Target of a command next to a running job. Members of its project only."""
    if not command or any("\0" in part for part in command):
        raise BadRequest("No command given.", hint="mill exec JOB -- COMMAND")
    found, placement, compute = _running(deps, actor, place)
    _check_can(compute, "exec", "run commands in a job")
    idle.note_use(deps, found)
    _note(deps, actor, found, "job.exec", command=list(command)[:20])
    size = {"columns": _between(columns, 1, 1000), "rows": _between(rows, 1, 1000)}
    return StreamTarget(placement.agent_id, exec_wanted(placement.id, place.rank, command, tty=tty, **size))


def port_target(deps: Deps, actor: Actor, place: JobPlace, port: int, *, note: bool = True) -> StreamTarget:
    """Target of a connection to a port of a running job. Members of its project only."""
    if not 1 <= port <= _LAST_PORT:
        raise BadRequest(f"Port {port} does not exist: ports are numbers from 1 to 65535.")
    found, placement, compute = _running(deps, actor, place)
    _check_can(compute, "ports", "forward ports of jobs")
    idle.note_use(deps, found)
    if note:
        _note(deps, actor, found, "job.port", port=port)
    return StreamTarget(placement.agent_id, port_wanted(placement.id, port, rank=place.rank))


def still_used(deps: Deps, actor: Actor, project: str, job: str) -> None:
    """Record an open stream as use. Raises if the actor has lost access."""
    with deps.db.read() as tx:
        found = jobs.find(tx, access.find_project(tx, actor, project, Role.MEMBER), job)
        in_jobs.check_reach(tx, actor, found)
    idle.note_use(deps, found)


def _running(deps: Deps, actor: Actor, place: JobPlace) -> tuple[Job, Placement, Compute]:
    with deps.db.read() as tx:
        job = jobs.find(tx, access.find_project(tx, actor, place.project, Role.MEMBER), place.job)
        placement = placements.get(tx, job.status.placement_id) if job.status.placement_id else None
        compute = computes.get(tx, placement.compute_id) if placement else None
        in_jobs.check_reach(tx, actor, job)
    if placement is None or compute is None or placement.state is not PlacementState.RUNNING:
        raise NotReady(
            f"Job {job.name!r} is {job.status.state.value}: only running jobs can be reached.",
            hint=f"mill get {job.name}",
        )
    _check_rank(job, place.rank)
    return job, placement, compute


def _check_rank(job: Job, rank: int) -> None:
    if not 0 <= rank < max(1, job.spec.ranks):
        alone = "is an MPI job, reached beside its launcher" if job.spec.processes else "is not distributed"
        count = job.spec.ranks
        has = f"has {count} processes, ranks 0 to {count - 1}" if count else alone
        raise BadRequest(f"Job {job.name!r} {has}: there is no rank {rank}.")


def _check_can(compute: Compute, capability: str, what: str) -> None:
    if not compute.can(capability):
        raise BadRequest(f"Compute {compute.name!r} (driver {compute.driver}) cannot {what}.", hint="mill compute show")


def _note(deps: Deps, actor: Actor, job: Job, action: str, **details: object) -> None:
    with deps.db.write() as tx:
        audit.record(
            tx, now=deps.clock.now(), actor=actor, action=action, subject=f"{job.project}/{job.name}",
            project_id=job.project_id, details={"target": job.id, **details},
        )  # fmt: skip


def _between(value: int, least: int, most: int) -> int:
    return max(least, min(value, most))
