"""Projects and their members."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from millpond.db import auth_rules, leases, projects, promised_pages, users
from millpond.errors import Forbidden, InUse, NameTaken
from millpond.lake.keys import ProjectKeys
from millpond.model.ids import new_id
from millpond.model.names import check_name
from millpond.model.people import Actor, Member, Project, Role, User
from millpond.model.project_shares import NO_SHARES
from millpond.services.deps import Deps
from millpond.services.jobs import shares
from millpond.services.jobs.shares import ProjectShare
from millpond.services.listing import Listing, page_of, text_of
from millpond.services.people import access, audit


@dataclass(frozen=True, slots=True)
class ProjectView:
    """A project, and what its jobs hold, wait for and may expect of the GPUs. `warnings`: what a change has led to."""

    project: Project
    share: ProjectShare
    warnings: Sequence[str] = ()


def list_visible(deps: Deps, actor: Actor, *, limit: int, cursor: str | None) -> Listing[ProjectView]:
    with deps.db.read() as tx:
        found = projects.page(tx, among=access.visible_projects(actor), limit=limit + 1, after=text_of(cursor))
        held = shares.of_projects(deps, tx, deps.clock.now())
    return page_of([ProjectView(one, held[one.id]) for one in found], limit, key=lambda view: view.project.name)


def view(deps: Deps, project: Project, *, warn: bool = False) -> ProjectView:
    """With `warn`, tell if the quotas of all projects add up to more than there is."""
    now = deps.clock.now()
    with deps.db.read() as tx:
        held = shares.of_projects(deps, tx, now)
        return ProjectView(project, held[project.id], shares.warnings(tx, now) if warn else ())


def create(
    deps: Deps, actor: Actor, *, name: str, description: str = "", settings: Mapping[str, Any] | None = None
) -> Project:  # fmt: skip
    """A project whose first administrator is the one who made it. `settings`: its shares, by their names."""
    now = deps.clock.now()
    project = Project(new_id(), check_name(name, "project"), description, now, NO_SHARES.changed(settings or {}))
    try:
        with deps.db.write() as tx:
            projects.insert(tx, project)
            if actor.user_id is not None:
                projects.set_role(tx, project.id, actor.user_id, Role.ADMIN)
            _audit(deps, tx, actor, "project.create", name, project, after=_told(project))
    except IntegrityError as error:
        raise NameTaken(f"Project {name!r} already exists.", hint="Choose another name.") from error
    if actor.user_id is not None:
        deps.events.access_changed(actor.user_id)
    return project


def change(
    deps: Deps, actor: Actor, project: Project, *, description: str | None, settings: Mapping[str, Any] | None = None
) -> Project:  # fmt: skip
    """Change what is given. Shares are for administrators of the site: they take from other projects."""
    if settings and not actor.is_admin:
        raise Forbidden(
            "Only administrators of the site change quotas and other shares of projects.", hint="Ask one of them."
        )
    with deps.db.write() as tx:
        projects.lock(tx, project.id)
        before = projects.get(tx, project.id) or project
        after = replace(before, shares=before.shares.changed(settings or {}))
        after = after if description is None else replace(after, description=description)
        if after == before:
            return after
        projects.save(tx, after)
        _audit(deps, tx, actor, "project.change", project.name, project, before=_told(before), after=_told(after))
    if after.shares != before.shares:
        deps.events.wake("schedule")
    return after


def delete(deps: Deps, actor: Actor, name: str) -> None:
    """InUse, naming what it holds, while it has datasets, jobs or runs (those in the bin count)."""
    try:
        with deps.db.write() as tx:
            project = access.find_project(tx, actor, name, Role.ADMIN)
            if held := projects.contents(tx, project.id):
                raise _holds(name, held)
            _audit(deps, tx, actor, "project.delete", name, project, before=_told(project))
            projects.delete(tx, project.id)
            promised_pages.doom(tx, project.id, [ProjectKeys(project.id).prefix], deps.clock.now())
    except IntegrityError as error:
        raise _holds(name, ["code or outputs of jobs"]) from error


def members(deps: Deps, project: Project) -> Sequence[tuple[Member, str]]:
    """Everybody with a role in the project and their full names."""
    with deps.db.read() as tx:
        return projects.members(tx, project.id)


def put_member(deps: Deps, actor: Actor, project: Project, user_name: str, role: Role) -> tuple[Member, str]:
    """Give a role, or change it. A project always keeps one administrator."""
    with deps.db.write() as tx:
        projects.lock(tx, project.id)
        user = _find_user(tx, actor, project, user_name)
        if role is not Role.ADMIN:
            _check_not_last_admin(tx, project, user)
        had = projects.roles_of(tx, user.id).get(project.id)
        projects.set_role(tx, project.id, user.id, role)
        auth_rules.forget_grants(tx, user.id, project.id)
        _audit(deps, tx, actor, "member.put", user_name, project, before={"role": had}, after={"role": role})
    deps.events.access_changed(user.id)
    return Member(project.id, user.id, user.name, role), user.full_name


def remove_member(deps: Deps, actor: Actor, project: Project, user_name: str) -> None:
    with deps.db.write() as tx:
        projects.lock(tx, project.id)
        user = _find_user(tx, actor, project, user_name)
        _check_not_last_admin(tx, project, user)
        had = projects.roles_of(tx, user.id).get(project.id)
        if not projects.remove_member(tx, project.id, user.id):
            raise _no_member(tx, project, user_name)
        auth_rules.forget_grants(tx, user.id, project.id)
        leases.release_lost(tx, user.id, project_id=project.id)
        _audit(deps, tx, actor, "member.delete", user_name, project, before={"role": had})
    deps.events.access_changed(user.id)


def _find_user(tx: Connection, actor: Actor, project: Project, name: str) -> User:
    """Nearest names are those of members only: a project's administrator does not get a list of all users."""
    user = users.find(tx, name)
    if user is None:
        raise access.not_found("user", name, _member_names(tx, project) if not actor.is_admin else users.names(tx))
    return user


def _check_not_last_admin(tx: Connection, project: Project, user: User) -> None:
    admins = [member.user_id for member, _ in projects.members(tx, project.id) if member.role is Role.ADMIN]
    if admins == [user.id]:
        raise InUse(
            f"{user.name!r} is the only administrator of project {project.name!r}.",
            hint="Make somebody else an administrator first.",
            depends=[f"project {project.name}"],
        )


def _member_names(tx: Connection, project: Project) -> list[str]:
    return [member.user_name for member, _ in projects.members(tx, project.id)]


def _no_member(tx: Connection, project: Project, name: str) -> Exception:
    return access.not_found("member", name, _member_names(tx, project))


def _holds(name: str, held: Sequence[str]) -> InUse:
    return InUse(
        f"Project {name!r} still holds {', '.join(held)}.",
        hint="Delete them first. Things in the bin count until they are purged.",
        depends=list(held),
    )


def _told(project: Project) -> Mapping[str, Any]:
    """Of a project, for the audit log: its shares in hundredths of a GPU and in seconds."""
    return {"description": project.description, **asdict(project.shares)}


def _audit(
    deps: Deps, tx: Connection, actor: Actor, action: str, subject: str, project: Project,
    *, before: Mapping[str, Any] | None = None, after: Mapping[str, Any] | None = None,
) -> None:  # fmt: skip
    audit.record(
        tx,
        now=deps.clock.now(),
        actor=actor,
        action=action,
        subject=subject,
        project_id=project.id,
        before=before,
        after=after,
    )
