"""Who may see and do what. Somebody without a role in a project gets the answer of a name that does not exist."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable

from sqlalchemy import Connection

from millpond.db import projects
from millpond.errors import Forbidden, NotFound
from millpond.model.people import Actor, Project, Role

# What lists the things of a kind, for a name that resembles none of them.
_LISTED_BY = {
    "artifact": "mill run artifacts RUN",
    "backfill": "mill flow backfills list",
    "cached commit": "mill cache list",
    "component": "mill library list",
    "compute": "mill compute list",
    "compute or site": "mill topology",
    "connection": "mill connection list",
    "dataset": "mill data list",
    "deleted dataset": "mill data list --deleted",
    "elastic compute": "mill elastic list",
    "endpoint": "mill endpoint list",
    "file": "mill data ls DATASET@REF",
    "flow": "mill flow list",
    "flow run": "mill flow runs",
    "job": "mill list",
    "join token": "mill compute tokens",
    "link": "mill link list",
    "member": "mill project members PROJECT",
    "model": "mill model list",
    "deleted model": "mill model list --deleted",
    "deleted workspace": "mill workspace list --deleted",
    "mount": "mill mount list",
    "path": "mill data ls DATASET@REF",
    "policy": "mill cache kept",
    "project": "mill project list",
    "provider": "mill auth provider list",
    "queue": "mill queue list",
    "ref": "mill data refs DATASET",
    "rule": "mill auth rule list",
    "run": "mill run list",
    "search": "mill search list",
    "secret": "mill secret list",
    "session": "mill session list",
    "site": "mill site list",
    "source": "mill source list",
    "template": "mill template list",
    "template or queue": "mill template list",
    "token": "mill token list",
    "trigger": "mill flow trigger list",
    "user": "mill user list",
    "view": "mill run view list",
    "volume": "mill volume list",
    "volume or tier": "mill volume list",
    "workspace": "mill workspace list",
}


def not_found(noun: str, name: str, candidates: Iterable[str] = (), *, within: str = "") -> NotFound:
    """The one answer for what does not exist and for what the caller may not see.

    `candidates` are names of the same kind that the caller may see. The hint names the nearest, or how to list all:
    of the dataset `within`, where it is given.
    """
    near = difflib.get_close_matches(name, sorted(set(candidates)), n=3, cutoff=0.5)
    command = _LISTED_BY.get(noun, "")
    listed = f"List them: {command.replace('DATASET', within or 'DATASET')}" if command else None
    hint = f"Did you mean {_or(near)}?" if near else listed
    return NotFound(
        f"No {noun} {name!r} found, or you have no access to it.", hint=hint, noun=noun, name=name, near=near
    )


def find_project(tx: Connection, actor: Actor, name: str, needed: Role = Role.VIEWER) -> Project:
    """The project of that name. NotFound unless the actor has a role in it, Forbidden if the role is too small."""
    project = projects.find(tx, name)
    if project is None or actor.role_in(project.id) is None:
        raise not_found("project", name, projects.names(tx, among=visible_projects(actor)))
    require(actor, project, needed)
    return project


def require(actor: Actor, project: Project, needed: Role) -> None:
    """Forbidden unless the actor's role includes `needed`. Only for projects the actor is known to see."""
    role = actor.role_in(project.id)
    if role is None or not role.includes(needed):
        own = role.value if role else "none"
        raise Forbidden(
            f"This needs the role {needed.value} in project {project.name!r}; yours is {own}.",
            hint="Ask a project administrator.",
            needed=needed.value,
        )


def sees(actor: Actor, project_id: str | None) -> bool:
    """Whether the actor may know of something in this project; None stands for what belongs to no project."""
    return project_id is None or actor.role_in(project_id) is not None


def visible_projects(actor: Actor) -> Collection[str] | None:
    """Ids of the projects the actor has a role in; None means every project."""
    return None if actor.is_admin else frozenset(actor.roles)


def _or(names: list[str]) -> str:
    quoted = [repr(name) for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"
