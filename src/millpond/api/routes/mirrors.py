"""Mirrors of a project: from datasets and workspaces to buckets and other sites."""

from __future__ import annotations

from fastapi import APIRouter

from millpond.api.access import DepsOf, Member, Viewer
from millpond.api.paging import DEFAULT_LIMIT, Cursor, Limit, page
from millpond.api.shapes import mirrors as shapes
from millpond.services.mirrors import mirrors
from millpond.services.mirrors.mirrors import NewMirror
from millpond.wire import mirrors as wire
from millpond.wire.base import Page

router = APIRouter(prefix="/projects/{project}/mirrors", tags=["mirrors"])


@router.get("")
def list_mirrors(scope: Viewer, deps: DepsOf, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None) -> Page[wire.Mirror]:
    """Without those of workspaces that are private to others."""
    return page(mirrors.list_all(deps, scope.actor, scope.project, limit=limit, cursor=cursor), shapes.mirror)


@router.post("", status_code=201)
def create_mirror(body: wire.MirrorCreate, scope: Member, deps: DepsOf) -> wire.Mirror:
    """It runs at once, and again every so often, in the name of whoever made it."""
    return shapes.mirror(mirrors.create(deps, scope.actor, scope.project, NewMirror(**body.model_dump())))


@router.post("/plan")
def plan_new_mirror(body: wire.MirrorCreate, scope: Member, deps: DepsOf) -> wire.MirrorResult:
    """What the first run would do. Nothing is created or changed."""
    asked = NewMirror(**body.model_dump())
    return shapes.result(mirrors.plan_new(deps, scope.actor, scope.project, asked))


@router.get("/{mirror}")
def get_mirror(mirror: str, scope: Viewer, deps: DepsOf) -> wire.Mirror:
    return shapes.mirror(mirrors.get(deps, scope.actor, scope.project, mirror))


@router.patch("/{mirror}")
def change_mirror(mirror: str, body: wire.MirrorChange, scope: Member, deps: DepsOf) -> wire.Mirror:
    """Pause, resume or reschedule it."""
    return shapes.mirror(mirrors.change(deps, scope.actor, scope.project, mirror, **body.model_dump()))


@router.post("/{mirror}/run")
def run_mirror(mirror: str, scope: Member, deps: DepsOf) -> wire.Mirror:
    """Run it now instead of at its time."""
    return shapes.mirror(mirrors.run_now(deps, scope.actor, scope.project, mirror))


@router.post("/{mirror}/plan")
def plan_mirror(mirror: str, scope: Member, deps: DepsOf) -> wire.MirrorResult:
    """What a run would do now. Nothing is changed."""
    return shapes.result(mirrors.plan(deps, scope.actor, scope.project, mirror))


@router.delete("/{mirror}", status_code=204)
def delete_mirror(mirror: str, scope: Member, deps: DepsOf) -> None:
    """What it has put stays."""
    mirrors.delete(deps, scope.actor, scope.project, mirror)
