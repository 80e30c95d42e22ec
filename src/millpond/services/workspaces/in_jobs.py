"""Workspaces of jobs: named when a job is submitted, looked at before it begins, mounted where it runs.

Several jobs may write to one workspace at once, as to any directory that machines share: what they write to the same
file is their own affair.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from millpond.db import agents, computes, jobs, nodes, volumes, workspaces
from millpond.decide.workspaces.life import too_large
from millpond.errors import BadRequest, Conflict, Forbidden
from millpond.model.compute import Compute
from millpond.model.job import Job
from millpond.model.job_spec import JobSpec, JobWorkspace
from millpond.model.mount import checked_target
from millpond.model.people import Actor, ActorKind, Project
from millpond.model.workspace import How, Workspace, WorkspaceState
from millpond.services.workspaces import access

RULE = "workspace"
# The label by which Kubernetes tells its nodes apart.
HOSTNAME = "kubernetes.io/hostname"


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
    bound = next((workspace for workspace, _ in found if workspace.how is How.OVERLAY or workspace.is_claim), None)
    compute = _compute_of(tx, spec, bound) if bound else None
    placed = replace(
        spec,
        workspaces=tuple(one for _, one in found),
        site_id=next(iter(sites)),
        compute=compute.name if compute else spec.compute,
    )
    for workspace, _ in found:
        if workspace.is_claim and not workspace.many_nodes and compute is not None:
            placed = _on_one_node(tx, placed, workspace, compute)
    return placed


def waiting(tx: Connection, job_ids: Collection[str]) -> Mapping[str, str]:
    """Of queued jobs, why one cannot begin before something happened to its workspace."""
    used = workspaces.of_waiting_jobs(tx, job_ids)
    known = workspaces.by_ids(tx, {one for found in used.values() for one in found})
    elsewhere = _held_claims(tx, known.values())
    said = {
        job_id: next(filter(None, (_why_not(known.get(one)) or elsewhere(job_id, one) for one in found)), None)
        for job_id, found in used.items()
    }
    return {job_id: words for job_id, words in said.items() if words}


def may_begin(tx: Connection, job: Job) -> bool:
    """Whether all its workspaces are ready. They are locked: nothing replaces their content while a job is placed, and
    no two jobs are placed at once with a claim for one node."""
    found = [workspaces.lock(tx, one.id) for one in job.spec.workspaces]
    held = _held_claims(tx, [one for one in found if one is not None])
    return all(_why_not(one) is None and (one is None or held(job.id, one.id) is None) for one in found)


def trees_of(tx: Connection, found: Sequence[Job]) -> Mapping[str, Sequence[JobTree]]:
    """By job, its workspaces as they are now."""
    needing = [job for job in found if job.spec.workspaces]
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


def _compute_of(tx: Connection, spec: JobSpec, bound: Workspace) -> Compute | None:
    """That of the agent that tends the volume: it alone mounts a writable layer, or has the claims of its cluster."""
    volume = volumes.get(tx, bound.volume_id)
    agent = agents.get(tx, volume.filler_id) if volume and volume.filler_id else None
    compute = computes.get(tx, agent.compute_id) if agent else None
    if compute is not None and spec.compute not in (None, compute.name):
        what = "a claim of the cluster" if bound.is_claim else "a writable layer, which is there on"
        raise BadRequest(
            f"Workspace {bound.name!r} is {what} {compute.name}{'' if bound.is_claim else ' alone'}.",
            hint=f"Run the job there, or copy the workspace: mill workspace clone {bound.name} NEW --volume VOLUME",
        )
    return compute


def _on_one_node(tx: Connection, spec: JobSpec, workspace: Workspace, compute: Compute) -> JobSpec:
    """The spec on the node where the claim is mounted now, if it is. BadRequest for a job that may need several."""
    if spec.processes > 1 and len(nodes.present(tx, [compute.id])) > 1:
        raise BadRequest(
            f"Workspace {workspace.name!r} is a ReadWriteOnce claim, which one node mounts at a time, and the "
            f"{spec.processes} processes of the job may run on several nodes of {compute.name}.",
            hint=f"Copy it for many nodes: mill workspace clone {workspace.name} NEW --class CLASS --access many",
        )
    users = workspaces.nodes_of(tx, [workspace.id]).get(workspace.id, ())
    at = next((one for one in nodes.present(tx, [compute.id]) if users and one.name == users[0][2]), None)
    if at is None or HOSTNAME not in at.labels:
        return spec
    return replace(spec, node_selector={**spec.node_selector, HOSTNAME: at.labels[HOSTNAME]})


def _held_claims(tx: Connection, found: Collection[Workspace]) -> Callable[[str, str], str | None]:
    """Why a job cannot have a workspace beside the jobs that have it: a claim for one node is mounted on another."""
    single = {one.id: one for one in found if one.is_claim and not one.many_nodes}
    users = workspaces.nodes_of(tx, list(single))
    return lambda job_id, workspace_id: _why_held(tx, job_id, single.get(workspace_id), users.get(workspace_id, ()))


def _why_held(
    tx: Connection, job_id: str, workspace: Workspace | None, users: Sequence[tuple[str, str, str]]
) -> str | None:  # fmt: skip
    if workspace is None or not users or users[0][0] == job_id:
        return None
    _, name, node = users[0]
    job = jobs.get(tx, job_id)
    at = job.spec.node_selector.get(HOSTNAME) if job is not None else None
    volume = volumes.get(tx, workspace.volume_id)
    agent = agents.get(tx, volume.filler_id) if volume and volume.filler_id else None
    present = nodes.present(tx, [agent.compute_id]) if agent else ()
    if len(present) == 1 or any(one.name == node and at and one.labels.get(HOSTNAME) == at for one in present):
        return None
    return (
        f"workspace {workspace.name} is a ReadWriteOnce claim, which one node mounts at a time: job {name} has it on "
        f"{node}."
    )


def _why_not(workspace: Workspace | None) -> str | None:
    if workspace is None or workspace.deleted_at is not None:
        return "its workspace was removed."
    if workspace.state is WorkspaceState.READY:
        return too_large(workspace)
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
