"""Workspaces of jobs: named when a job is submitted, looked at before it begins, mounted where it runs.

Several jobs may write to one workspace at once, as to any directory that machines share: what they write to the same
file is their own affair.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from millpond.db import agents, computes, volumes, workspaces
from millpond.errors import BadRequest, Conflict, Forbidden
from millpond.model.job import Job
from millpond.model.job_spec import JobSpec, JobWorkspace
from millpond.model.mount import checked_target
from millpond.model.people import Actor, ActorKind, Project
from millpond.model.workspace import How, Workspace, WorkspaceState
from millpond.services.workspaces import access

RULE = "workspace"


@dataclass(frozen=True, slots=True)
class JobTree:
    """A workspace of a job, as the agent that runs it mounts it. `source` is None once the job may not have it."""

    name: str
    source: str | None
    target: str
    read_only: bool
    is_home: bool


def resolved(tx: Connection, actor: Actor, project: Project, spec: JobSpec) -> JobSpec:
    """The spec with its workspaces by id, at their site. Raises if the actor may not have one, or they are apart."""
    if not spec.workspaces:
        return spec
    found = [_resolved(tx, actor, project, one) for one in spec.workspaces]
    targets = [one.target for _, one in found]
    if twice := sorted({target for target in targets if targets.count(target) > 1}):
        raise BadRequest(f"Two workspaces have the same path: {twice[0]}.", hint="Give each a path of its own.")
    if sum(one.home for _, one in found) > 1:
        raise BadRequest("Only one workspace can be the home of a job.")
    sites = {workspace.site_id: workspace for workspace, _ in found}
    if len(sites) > 1:
        named = ", ".join(f"{one.name} is at {one.site}" for one in sites.values())
        raise BadRequest(f"The workspaces of a job must be at one site: {named}.")
    layered = next((workspace for workspace, _ in found if workspace.how is How.OVERLAY), None)
    return replace(
        spec,
        workspaces=tuple(one for _, one in found),
        site_id=next(iter(sites)),
        compute=_compute_of(tx, spec, layered) if layered else spec.compute,
    )


def waiting(tx: Connection, job_ids: Collection[str]) -> Mapping[str, str]:
    """Of queued jobs, why one cannot begin before something happened to its workspace."""
    used = workspaces.of_waiting_jobs(tx, job_ids)
    known = workspaces.by_ids(tx, {one for found in used.values() for one in found})
    said = {
        job_id: next(filter(None, (_why_not(known.get(one)) for one in found)), None) for job_id, found in used.items()
    }
    return {job_id: words for job_id, words in said.items() if words}


def may_begin(tx: Connection, job: Job) -> bool:
    """Whether all its workspaces are ready. They are locked: nothing replaces their content while a job is placed."""
    return all(_why_not(workspaces.lock(tx, one.id)) is None for one in job.spec.workspaces)


def trees_of(tx: Connection, jobs: Sequence[Job]) -> Mapping[str, Sequence[JobTree]]:
    """By job, its workspaces as they are now."""
    needing = [job for job in jobs if job.spec.workspaces]
    known = workspaces.by_ids(tx, {one.id for job in needing for one in job.spec.workspaces})
    return {job.id: [_tree(one, known.get(one.id)) for one in job.spec.workspaces] for job in needing}


def check_reach(tx: Connection, actor: Actor, job: Job) -> None:
    """Forbidden unless the actor may have what is in the job's workspaces: whoever reaches it sees them."""
    if actor.kind is not ActorKind.USER or not job.spec.workspaces:
        return
    known = workspaces.by_ids(tx, [one.id for one in job.spec.workspaces])
    for one in known.values():
        if not access.uses(tx, actor, one):
            raise Forbidden(
                f"Job {job.name!r} has workspace {one.name!r}, which is private to {one.owner}.",
                hint=f"Ask {one.owner} to share it: mill workspace share {one.name}",
            )


def _resolved(tx: Connection, actor: Actor, project: Project, asked: JobWorkspace) -> tuple[Workspace, JobWorkspace]:
    found = access.find_used(tx, actor, project, asked.id or asked.workspace)
    if found.state in (WorkspaceState.FAILED, WorkspaceState.REMOVING):
        raise Conflict(f"Workspace {found.name!r} is {found.state.value}: {found.problem or 'it cannot be used'}")
    return found, replace(
        asked,
        workspace=found.name,
        target=checked_target(asked.target),
        read_only=asked.read_only or found.read_only,
        id=found.id,
        volume_id=found.volume_id,
    )


def _compute_of(tx: Connection, spec: JobSpec, layered: Workspace) -> str | None:
    """A writable layer is mounted on one machine: that of the agent that tends the volume."""
    volume = volumes.get(tx, layered.volume_id)
    agent = agents.get(tx, volume.filler_id) if volume and volume.filler_id else None
    compute = computes.get(tx, agent.compute_id) if agent else None
    if compute is None:
        return spec.compute
    if spec.compute not in (None, compute.name):
        raise BadRequest(
            f"Workspace {layered.name!r} is a writable layer, which is there on {compute.name} alone.",
            hint=f"Run the job there, or copy the workspace: mill workspace clone {layered.name} NEW",
        )
    return compute.name


def _why_not(workspace: Workspace | None) -> str | None:
    if workspace is None or workspace.deleted_at is not None:
        return "its workspace was removed."
    if workspace.state is WorkspaceState.READY:
        over = workspace.quota == "measured" and workspace.over_bytes
        return f"workspace {workspace.name} holds more than its size." if over else None
    problem = f": {workspace.problem}" if workspace.problem else "."
    return f"workspace {workspace.name} is {workspace.state.value}{problem}"


def _tree(asked: JobWorkspace, found: Workspace | None) -> JobTree:
    is_there = found is not None and found.deleted_at is None
    return JobTree(
        name=asked.workspace,
        source=found.path if found is not None and is_there else None,
        target=asked.target,
        read_only=asked.read_only,
        is_home=asked.home,
    )
