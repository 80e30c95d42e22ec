"""Imports into a dataset, once or again and again."""

from __future__ import annotations

from fastapi import APIRouter

from millpond.api.access import DepsOf, Member, Viewer
from millpond.api.paging import DEFAULT_LIMIT, Cursor, Limit, page
from millpond.api.routes.datasets import find
from millpond.api.shapes import data
from millpond.api.shapes import sources as shapes
from millpond.services.datasets import reading
from millpond.services.sources import imports, sources
from millpond.services.sources.sources import NewSource
from millpond.wire import imports as wire
from millpond.wire.base import Page

router = APIRouter(prefix="/projects/{project}", tags=["sources"])


@router.post("/datasets/{dataset}/imports", status_code=201)
def create_import(dataset: str, body: wire.Import, scope: Member, deps: DepsOf) -> wire.Imported:
    """Register objects that lie elsewhere as a commit; nothing is copied."""
    found = find(deps, scope, dataset)
    done = imports.import_objects(deps, scope.actor, scope.project, found, **body.model_dump())
    commit = data.commit(reading.commit_view(deps, found, done.commit)) if done.commit is not None else None
    return wire.Imported(commit=commit, **done.counts)


@router.get("/sources")
def list_sources(
    scope: Viewer, deps: DepsOf, dataset: str | None = None, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None
) -> Page[wire.Source]:
    found = sources.list_all(deps, scope.project, dataset=dataset, limit=limit, cursor=cursor)
    return page(found, shapes.source)


@router.post("/sources", status_code=201)
def create_source(body: wire.SourceCreate, scope: Member, deps: DepsOf) -> wire.Source:
    """It runs at once, and again every so often, in the name of whoever made it."""
    return shapes.source(sources.create(deps, scope.actor, scope.project, NewSource(**body.model_dump())))


@router.get("/sources/{source}")
def get_source(source: str, scope: Viewer, deps: DepsOf) -> wire.Source:
    return shapes.source(sources.get(deps, scope.project, source))


@router.patch("/sources/{source}")
def change_source(source: str, body: wire.SourceChange, scope: Member, deps: DepsOf) -> wire.Source:
    """Pause, resume or reschedule it."""
    return shapes.source(sources.change(deps, scope.actor, scope.project, source, **body.model_dump()))


@router.post("/sources/{source}/run")
def run_source(source: str, scope: Member, deps: DepsOf) -> wire.Source:
    """Run it now instead of at its time."""
    return shapes.source(sources.run_now(deps, scope.actor, scope.project, source))


@router.delete("/sources/{source}", status_code=204)
def delete_source(source: str, scope: Member, deps: DepsOf) -> None:
    """What it has brought stays."""
    sources.delete(deps, scope.actor, scope.project, source)
