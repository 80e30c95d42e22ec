"""Saved views of a project's runs: a viewer keeps own ones, members share theirs with the project."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection

from millpond.db import saved_views
from millpond.decide.run_filter import parse_columns, parse_filter, parse_group, parse_sort
from millpond.errors import Conflict, Forbidden, Invalid
from millpond.model.ids import new_id
from millpond.model.people import Actor, Project, Role
from millpond.model.saved_view import SavedView, ViewQuery
from millpond.services.deps import Deps
from millpond.services.people import access, audit

MAX_NAME = 100
_MOST_VIEWS = 500


def list_views(deps: Deps, actor: Actor, project: Project) -> Sequence[SavedView]:
    """Shared ones and the actor's own, by name."""
    with deps.db.read() as tx:
        return saved_views.visible(tx, project.id, actor.user_id or "")


def save(deps: Deps, actor: Actor, project: Project, name: str, query: ViewQuery, *, shared: bool) -> SavedView:
    """A view of this name that the same people see is replaced. BadRequest points at a word that cannot be read."""
    name = name.strip()
    if not 1 <= len(name) <= MAX_NAME or "\0" in name:
        raise Invalid(f"The name of a view must have 1 to {MAX_NAME} characters.", fields=["name"])
    if shared:
        access.require(actor, project, Role.MEMBER)
    if actor.user_id is None:
        raise Forbidden("Only people save views.")
    _check(query)
    owner = None if shared else actor.user_id
    view = SavedView(new_id(), project.id, name, owner, actor.name, deps.clock.now(), query)
    with deps.db.write() as tx:
        known = saved_views.visible(tx, project.id, actor.user_id)
        is_new = all((other.owner_id, other.name) != (owner, name) for other in known)
        if is_new and len(known) >= _MOST_VIEWS:
            raise Conflict(f"A project has at most {_MOST_VIEWS} views.", hint="Delete one that nobody uses.")
        saved_views.save(tx, view)
        was = next((other.query for other in known if (other.owner_id, other.name) == (owner, name)), None)
        _audit(tx, deps, actor, project, "run-view.save", view, before=was, after=query)
    return view


def delete(deps: Deps, actor: Actor, project: Project, view_id: str) -> SavedView:
    """One's own, or as a member a shared one."""
    with deps.db.write() as tx:
        found = _find(tx, actor, project, view_id)
        if found.is_shared:
            access.require(actor, project, Role.MEMBER)
        saved_views.delete(tx, found.id)
        _audit(tx, deps, actor, project, "run-view.delete", found, before=found.query)
    return found


def _find(tx: Connection, actor: Actor, project: Project, view_id: str) -> SavedView:
    known = saved_views.visible(tx, project.id, actor.user_id or "")
    for view in known:
        if view.id == view_id:
            return view
    raise access.not_found("view", view_id, [view.id for view in known])


def _audit(
    tx: Connection, deps: Deps, actor: Actor, project: Project, action: str, view: SavedView, *,
    before: ViewQuery | None, after: ViewQuery | None = None,
) -> None:  # fmt: skip
    audit.record(
        tx, now=deps.clock.now(), actor=actor, action=action, subject=view.name, project_id=project.id,
        details={"shared": view.is_shared}, before=audit.values_of(before) if before else None,
        after=audit.values_of(after) if after else None,
    )  # fmt: skip


def _check(query: ViewQuery) -> None:
    parse_filter(query.filter)
    parse_sort(query.sort)
    parse_columns(query.columns)
    if query.group:
        parse_group(query.group)
