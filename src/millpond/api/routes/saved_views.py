"""Saved views of lists of runs: one's own, and those shared with a project."""

from __future__ import annotations

from fastapi import APIRouter

from millpond.api.access import DepsOf, Viewer
from millpond.api.shapes import saved_views as shapes
from millpond.services.runs import saved_views
from millpond.wire import saved_views as wire

router = APIRouter(tags=["runs"])


@router.get("/projects/{project}/run-views")
def list_run_views(scope: Viewer, deps: DepsOf) -> wire.SavedViews:
    """Shared ones and one's own, by name."""
    found = saved_views.list_views(deps, scope.actor, scope.project)
    return wire.SavedViews(items=[shapes.view(view) for view in found])


@router.put("/projects/{project}/run-views")
def save_run_view(body: wire.SavedViewPut, scope: Viewer, deps: DepsOf) -> wire.SavedView:
    """Save a view, in place of one of the same name. Sharing it with the project takes a member."""
    query = shapes.query(body)
    return shapes.view(saved_views.save(deps, scope.actor, scope.project, body.name, query, shared=body.shared))


@router.delete("/projects/{project}/run-views/{view}", status_code=204)
def delete_run_view(view: str, scope: Viewer, deps: DepsOf) -> None:
    """One's own, or as a member a shared one; by id."""
    saved_views.delete(deps, scope.actor, scope.project, view)
