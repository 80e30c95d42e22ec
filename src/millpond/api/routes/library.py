"""The AI library of this server: components that flows may use."""

from __future__ import annotations

from fastapi import APIRouter

from millpond.api.access import DepsOf, Viewer
from millpond.api.shapes import flows as shapes
from millpond.errors import BadName
from millpond.model.component import ComponentRef
from millpond.services.flows.project_library import ProjectLibrary
from millpond.services.people import access
from millpond.wire import flows as wire

router = APIRouter(prefix="/projects/{project}", tags=["library"])


@router.get("/library")
def list_components(scope: Viewer, deps: DepsOf) -> wire.Library:
    """Every version, by name, the newest first: those of the server and those of the project."""
    project = ProjectLibrary(deps, scope.project)
    found = [(one.component, one.origin) for one in deps.library.catalog(deps.settings.components).all()]
    found += [(one, project.origin) for one in project.all()]
    ordered = sorted(found, key=lambda one: (one[0].name, [-part for part in one[0].version]))
    return wire.Library(items=[shapes.component(*one) for one in ordered])


@router.get("/library/{component}")
def get_component(component: str, scope: Viewer, deps: DepsOf) -> wire.LibraryComponent:
    """`component` is NAME or NAME@VERSION; its page of docs comes with it."""
    catalog, project = deps.library.catalog(deps.settings.components), ProjectLibrary(deps, scope.project)
    try:
        ref = ComponentRef.parse(component)
    except BadName:
        raise access.not_found("component", component) from None
    found, own = catalog.find(ref), project.component(ref)
    if own is not None and (found is None or own.version >= found.component.version):
        return shapes.component(own, project.origin, project.readme(ref))
    if found is None:
        known = {one.component.name for one in catalog.all()} | {one.name for one in project.all()}
        raise access.not_found("component", component, sorted(known))
    return shapes.component(found.component, found.origin, found.docs or None)
