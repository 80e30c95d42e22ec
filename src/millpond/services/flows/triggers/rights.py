"""Whoever a flow runs as, with the roles they have now."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection

from millpond.db import actors, users
from millpond.model.flow import Flow
from millpond.model.people import Actor, Project, Role
from millpond.model.saved_flow import FlowVersion
from millpond.services.flows.checking import SERVICE


@dataclass(frozen=True, slots=True)
class Runner:
    """`actor` is None if they may not run the flow any more; `reason` says why."""

    name: str
    actor: Actor | None
    reason: str = ""


def run_as_name(flow: Flow, version: FlowVersion) -> str:
    """The account: that of a service, or of who saved the version."""
    return flow.run_as.removeprefix(SERVICE) if flow.run_as.startswith(SERVICE) else version.saved_by


def runner_of(tx: Connection, project: Project, name: str) -> Runner:
    """Running a flow needs the role member."""
    user = users.find(tx, name)
    if user is None or user.disabled_at is not None:
        what = "no longer exists" if user is None else "is disabled"
        return Runner(name, None, f"{name}, who the flow runs as, {what}. Save the flow again: it then runs as you.")
    actor = actors.of_user(tx, user)
    role = actor.role_in(project.id)
    if role is None or not role.includes(Role.MEMBER):
        own = f"only the role {role.value}" if role else "no role"
        hint = "Save the flow again, so that it runs as you, or give the role back."
        return Runner(name, None, f"{name}, who the flow runs as, has {own} in project {project.name}. {hint}")
    return Runner(name, actor)
