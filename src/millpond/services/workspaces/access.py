"""Who sees a workspace, uses what is in it, and changes it.

It is private to its owner within the project unless it is shared. Administrators of the project see that it exists, and
may remove or resize it; what is in it they do not see. A job uses the workspaces that it was given.
"""

from __future__ import annotations

from sqlalchemy import Connection

from millpond.db import volumes, workspaces
from millpond.errors import Conflict, Forbidden, NotReady
from millpond.model.people import Actor, ActorKind, Project, Role
from millpond.model.workspace import Workspace, WorkspaceState
from millpond.services.deps import Deps
from millpond.services.people import access, audit

TOPIC = "workspaces"


def sees(tx: Connection, actor: Actor, workspace: Workspace) -> bool:
    role = actor.role_in(workspace.project_id)
    if actor.kind is ActorKind.PLACEMENT:
        return _job_has(tx, actor, workspace)
    return role is Role.ADMIN or (role is not None and (workspace.shared or is_owner(actor, workspace)))


def uses(tx: Connection, actor: Actor, workspace: Workspace) -> bool:
    """True if the actor may read and write what is in it."""
    if actor.kind is ActorKind.SYSTEM:
        return True
    if actor.kind is ActorKind.PLACEMENT:
        return _job_has(tx, actor, workspace)
    role = actor.role_in(workspace.project_id)
    if role is None or not role.includes(Role.MEMBER):
        return False
    return workspace.shared or is_owner(actor, workspace)


def is_owner(actor: Actor, workspace: Workspace) -> bool:
    return actor.user_id is not None and actor.user_id == workspace.owner_id


def find(tx: Connection, actor: Actor, project: Project, written: str) -> Workspace:
    """By name or id; NotFound, with the nearest names, for what the actor does not see."""
    found = workspaces.find(tx, project.id, written)
    if found is None or not sees(tx, actor, found):
        raise access.not_found("workspace", written, _visible_names(tx, actor, project))
    return found


def find_used(tx: Connection, actor: Actor, project: Project, written: str) -> Workspace:
    """The same, of those whose content the actor may have. Forbidden for others that the actor sees."""
    found = find(tx, actor, project, written)
    if not uses(tx, actor, found):
        raise Forbidden(
            f"Workspace {found.name!r} is private to {found.owner}.",
            hint=f"Ask {found.owner} to share it: mill workspace share {found.name}",
        )
    return found


def lock(tx: Connection, workspace_id: str) -> Workspace | None:
    """It and its volume, the volume first: everything that changes a workspace begins so."""
    found = workspaces.get(tx, workspace_id)
    if found is None or volumes.lock(tx, found.volume_id) is None:
        return None
    return workspaces.lock(tx, workspace_id)


def lock_used(tx: Connection, actor: Actor, project: Project, written: str) -> Workspace:
    """A living one whose content the actor may have, to be changed in this transaction."""
    found = lock(tx, find_used(tx, actor, project, written).id)
    if found is None or found.deleted_at is not None:
        raise access.not_found("workspace", written)
    return found


def require_change(actor: Actor, workspace: Workspace) -> None:
    """Forbidden unless the actor owns it or administers its project."""
    role = actor.role_in(workspace.project_id)
    if not (is_owner(actor, workspace) or role is Role.ADMIN or actor.kind is ActorKind.SYSTEM):
        raise Forbidden(
            f"Workspace {workspace.name!r} belongs to {workspace.owner}.",
            hint="Its owner and administrators of the project can change it.",
        )


def require_ready(workspace: Workspace) -> None:
    """NotReady while it is made or replaced, Conflict for one that failed."""
    if workspace.state is WorkspaceState.FAILED:
        raise Conflict(
            f"Workspace {workspace.name!r} has failed: {workspace.problem}",
            hint=f"Remove it and create it again: mill workspace rm {workspace.name}",
        )
    if workspace.state is not WorkspaceState.READY:
        raise NotReady(
            f"Workspace {workspace.name!r} is {workspace.state.value}.",
            hint=f"Wait for it: mill workspace wait {workspace.name}",
        )


def announce(deps: Deps, workspace: Workspace, what: str = "changed") -> None:
    """Tell open pages, and agents that there is something to do. Call it after the transaction."""
    data = {"project": workspace.project, "id": workspace.id, "name": workspace.name, "what": what}
    deps.events.publish(TOPIC, project_id=workspace.project_id, data={**data, "state": workspace.state.value})
    deps.events.wake("agents")
    deps.events.wake(TOPIC)


def record(
    tx: Connection, deps: Deps, actor: Actor, workspace: Workspace, action: str, *,
    before: dict[str, object] | None = None, after: dict[str, object] | None = None, **details: object,
) -> None:  # fmt: skip
    audit.record(
        tx, now=deps.clock.now(), actor=actor, action=f"workspace.{action}", subject=workspace.written,
        project_id=workspace.project_id, details={"workspace": workspace.id, **details}, before=before, after=after,
    )  # fmt: skip


def _job_has(tx: Connection, actor: Actor, workspace: Workspace) -> bool:
    used = workspaces.of_waiting_jobs(tx, [actor.job_id or ""])
    return workspace.id in used.get(actor.job_id or "", ())


def _visible_names(tx: Connection, actor: Actor, project: Project) -> list[str]:
    is_all = actor.role_in(project.id) is Role.ADMIN
    seen_by = None if is_all else actor.user_id or ""
    return [one.name for one in workspaces.page(tx, projects=[project.id], limit=1000, seen_by=seen_by)]
