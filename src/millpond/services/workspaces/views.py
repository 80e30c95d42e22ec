"""Workspaces as people see them: with their snapshots counted, the jobs that have them, and what they wait for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from millpond.db import agents, volumes, workspace_snapshots, workspaces
from millpond.db.workspace_snapshots import Counted
from millpond.decide.workspaces.agent_waits import Tending, agent_wait
from millpond.decide.workspaces.life import too_large
from millpond.errors import BadRequest
from millpond.model.people import Actor, ActorKind, Project, Role
from millpond.model.volume import Volume
from millpond.model.workspace import Begins, Workspace, WorkspaceState
from millpond.services.computes.presence import is_connected
from millpond.services.deps import Deps
from millpond.services.listing import Listing, decode, page_of
from millpond.services.people import access as people_access
from millpond.services.workspaces import access, sources, storage


@dataclass(frozen=True, slots=True)
class UsingJob:
    id: str
    name: str
    read_only: bool


@dataclass(frozen=True, slots=True)
class WorkspaceView:
    workspace: Workspace
    snapshots: Counted
    jobs: Sequence[UsingJob]
    # Whether the one who asks may have what is in it.
    is_usable: bool


def get(deps: Deps, actor: Actor, project: Project, written: str) -> WorkspaceView:
    with deps.db.read() as tx:
        return view(tx, actor, access.find(tx, actor, project, written))


def view(tx: Connection, actor: Actor, workspace: Workspace) -> WorkspaceView:
    return views(tx, actor, [workspace])[0]


def views(tx: Connection, actor: Actor, found: Sequence[Workspace]) -> list[WorkspaceView]:
    counted = workspace_snapshots.counted(tx, [one.id for one in found])
    living = workspaces.living_jobs(tx, [one.id for one in found])
    return [
        WorkspaceView(
            one,
            counted.get(one.id, Counted()),
            [UsingJob(*job) for job in living.get(one.id, ())],
            access.uses(tx, actor, one),
        )
        for one in found
    ]


def list_workspaces(
    deps: Deps, actor: Actor, *, project: str | None, limit: int, cursor: str | None, deleted: bool = False
) -> Listing[WorkspaceView]:
    """Those of the actor, those that are shared, and all of projects that the actor administers."""
    with deps.db.read() as tx:
        if actor.kind is ActorKind.PLACEMENT:
            own = workspaces.of_waiting_jobs(tx, [actor.job_id or ""]).get(actor.job_id or "", ())
            return Listing(views(tx, actor, list(workspaces.by_ids(tx, own).values())))
        among = people_access.visible_projects(actor)
        if project is not None:
            among = {people_access.find_project(tx, actor, project).id}
        found = workspaces.page(
            tx, projects=among, after=_place(cursor), limit=limit + 1, deleted=deleted,
            seen_by=None if actor.is_admin else actor.user_id or "",
            administered=[key for key, role in actor.roles.items() if role is Role.ADMIN],
        )  # fmt: skip
        shown = views(tx, actor, found)
    return page_of(shown, limit, key=lambda one: [one.workspace.project, one.workspace.name])


def why(deps: Deps, actor: Actor, project: Project, written: str) -> tuple[Workspace, Sequence[str]]:
    """Why it is in its state, where it is and how it was made."""
    with deps.db.read() as tx:
        found = access.find(tx, actor, project, written)
        volume = volumes.get(tx, found.volume_id)
        waits = _agent_wait(tx, deps, found, volume)
        return found, [*_state_reasons(tx, found), *waits, *found.reasons, *storage.about(found, volume)]


def _agent_wait(tx: Connection, deps: Deps, found: Workspace, volume: Volume | None) -> list[str]:
    """While there is something to do that only an agent of its volume does."""
    is_worked_on = found.state is WorkspaceState.CREATING or found.restore is not None
    if volume is None or not is_worked_on:
        return []
    said = agent_wait(volume.name, _tending(tx, volume, deps.clock.now()))
    return [said] if said else []


def _tending(tx: Connection, volume: Volume, now: datetime) -> Tending | None:
    agent = agents.get(tx, volume.filler_id) if volume.filler_id else None
    if agent is None:
        return None
    silent = None if agent.seen_at is None else max(0.0, (now - agent.seen_at).total_seconds())
    return Tending(agent.compute, is_connected=is_connected(agent.seen_at, now), silent_seconds=silent)


def _state_reasons(tx: Connection, found: Workspace) -> list[str]:
    said = [found.problem] if found.problem else []
    if found.state is WorkspaceState.CREATING:
        if found.attempt == 0:
            said.append(f"waits for room on {found.volume}: what is evicted for it is not gone yet")
        elif sources.resolve(tx, found.source, found.volume_id, found.storage_class) is None:
            said.append(f"waits until snapshot {found.source.written} is kept")
    if found.restore is not None:
        if found.restore.problem:
            said.append(found.restore.problem)
        safety = workspace_snapshots.get(tx, found.id, found.restore.safety)
        if safety is not None and not safety.is_there:
            said.append(f"takes snapshot {safety.name} before its content is replaced")
        elif sources.resolve(tx, found.restore.source, found.volume_id, found.storage_class) is None:
            said.append(f"waits until {found.restore.source.written} is kept")
        else:
            said.append(f"its content is being replaced by {found.restore.source.written}")
    if over := too_large(found):
        said.append(f"{over}. Jobs that write to it are stopped")
    if found.source.kind is not Begins.EMPTY and found.state is WorkspaceState.READY:
        said.append(f"made from {found.source.written}")
    return said


def _place(cursor: str | None) -> tuple[str, str]:
    match decode(cursor) if cursor else ["", ""]:
        case [str(project), str(name)]:
            return project, name
        case _:
            raise BadRequest(f"{cursor!r} is not a cursor of this list.")
