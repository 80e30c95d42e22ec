"""Projects and their members."""

from __future__ import annotations

from fastapi import APIRouter

from millpond.api.access import Admin, DepsOf, SignedIn, SiteAdmin, Viewer
from millpond.api.paging import DEFAULT_LIMIT, Cursor, Limit, page
from millpond.model.people import Actor, Member, Project, Role
from millpond.services.people import projects
from millpond.wire import people as wire
from millpond.wire.base import Page

router = APIRouter(prefix="/projects", tags=["projects"])


@router.get("")
def list_projects(
    actor: SignedIn, deps: DepsOf, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None
) -> Page[wire.Project]:
    """Those one has a role in."""
    listing = projects.list_visible(deps, actor, limit=limit, cursor=cursor)
    return page(listing, lambda project: _project(actor, project))


@router.post("", status_code=201)
def create_project(body: wire.ProjectCreate, actor: SiteAdmin, deps: DepsOf) -> wire.Project:
    return _project(actor, projects.create(deps, actor, name=body.name, description=body.description))


@router.get("/{project}")
def get_project(scope: Viewer) -> wire.Project:
    return _project(scope.actor, scope.project)


@router.patch("/{project}")
def change_project(body: wire.ProjectChange, scope: Admin, deps: DepsOf) -> wire.Project:
    changed = projects.change(deps, scope.actor, scope.project, description=body.description)
    return _project(scope.actor, changed)


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


def _project(actor: Actor, project: Project) -> wire.Project:
    return wire.Project(
        id=project.id,
        name=project.name,
        description=project.description,
        created_at=project.created_at,
        role=actor.role_in(project.id) or Role.ADMIN,  # whoever just made it is its administrator
    )


def _member(member: Member, full_name: str) -> wire.Member:
    return wire.Member(user=member.user_name, full_name=full_name, role=member.role)
