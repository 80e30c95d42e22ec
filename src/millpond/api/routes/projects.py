"""Projects and their members."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter

from millpond.api.access import Admin, DepsOf, SignedIn, SiteAdmin, Viewer
from millpond.api.paging import DEFAULT_LIMIT, Cursor, Limit, page
from millpond.model.people import Actor, Member, Role
from millpond.model.project_shares import NO_SHARES
from millpond.services.people import projects
from millpond.services.people.projects import ProjectView
from millpond.wire import people as wire
from millpond.wire.base import Page

router = APIRouter(prefix="/projects", tags=["projects"])


@router.get("")
def list_projects(
    actor: SignedIn, deps: DepsOf, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None
) -> Page[wire.Project]:
    """Those one has a role in."""
    listing = projects.list_visible(deps, actor, limit=limit, cursor=cursor)
    return page(listing, lambda view: _project(actor, view))


@router.post("", status_code=201)
def create_project(body: wire.ProjectCreate, actor: SiteAdmin, deps: DepsOf) -> wire.Project:
    """A project with its quota and other settings; `warnings` tells if quotas add up to more than there is."""
    made = projects.create(deps, actor, name=body.name, description=body.description, settings=_settings(body))
    return _project(actor, projects.view(deps, made, warn=True))


@router.get("/{project}")
def get_project(scope: Viewer, deps: DepsOf) -> wire.Project:
    return _project(scope.actor, projects.view(deps, scope.project))


@router.patch("/{project}")
def change_project(body: wire.ProjectChange, scope: Admin, deps: DepsOf) -> wire.Project:
    """Change what the body has. Everything but the description is for administrators of the site."""
    settings = _settings(body)
    changed = projects.change(deps, scope.actor, scope.project, description=body.description, settings=settings)
    return _project(scope.actor, projects.view(deps, changed, warn=bool(settings)))


@router.delete("/{project}", status_code=204)
def delete_project(project: str, actor: SiteAdmin, deps: DepsOf) -> None:
    """Refused while it holds anything; the answer says what."""
    projects.delete(deps, actor, project)


@router.get("/{project}/members")
def list_members(scope: Viewer, deps: DepsOf) -> Page[wire.Member]:
    return Page(items=[_member(member, name) for member, name in projects.members(deps, scope.project)])


@router.put("/{project}/members/{user}")
def put_member(user: str, body: wire.MemberPut, scope: Admin, deps: DepsOf) -> wire.Member:
    member, full_name = projects.put_member(deps, scope.actor, scope.project, user, body.role)
    return _member(member, full_name)


@router.delete("/{project}/members/{user}", status_code=204)
def remove_member(user: str, scope: Admin, deps: DepsOf) -> None:
    projects.remove_member(deps, scope.actor, scope.project, user)


_AMOUNTS = ("quota", "weight", "limit")
_PLAIN = ("over_quota", "train_affinity", "interactive_affinity", "interactive_time", "interactive_idle", "min_runtime")


def _project(actor: Actor, view: ProjectView) -> wire.Project:
    project, shares, now = view.project, view.project.shares, view.share
    return wire.Project(
        id=project.id,
        name=project.name,
        description=project.description,
        created_at=project.created_at,
        role=actor.role_in(project.id) or Role.ADMIN,  # whoever just made it is its administrator
        quota=shares.quota / 100,
        pool_quotas={pool: quota / 100 for pool, quota in shares.pool_quotas.items()},
        weight=now.weight / 100,
        own_weight=None if shares.weight is None else shares.weight / 100,
        limit=None if shares.limit is None else shares.limit / 100,
        **{name: getattr(shares, name) for name in _PLAIN},
        share=now.share / 100,
        allocated=now.allocated / 100,
        pending_gpus=now.pending_gpus / 100,
        pending_jobs=now.pending_jobs,
        warnings=list(view.warnings),
    )


def _settings(body: wire.ProjectSettings) -> Mapping[str, Any]:
    """What was given, in hundredths of a GPU; null stands for the default."""
    given = {name: getattr(body, name) for name in (*_AMOUNTS, "pool_quotas", *_PLAIN) if name in body.model_fields_set}
    return {name: getattr(NO_SHARES, name) if value is None else _inside(name, value) for name, value in given.items()}


def _inside(name: str, value: Any) -> Any:
    if name in _AMOUNTS:
        return round(value * 100)
    return {pool: round(amount * 100) for pool, amount in value.items()} if name == "pool_quotas" else value


def _member(member: Member, full_name: str) -> wire.Member:
    return wire.Member(user=member.user_name, full_name=full_name, role=member.role)
