"""The AI library of this server: components that flows may use."""

from __future__ import annotations

from fastapi import APIRouter

from millpond.api.access import DepsOf, Viewer
from millpond.api.shapes import flows as shapes
from millpond.errors import BadName
from millpond.model.component import ComponentRef
from millpond.services.people import access
from millpond.wire import flows as wire

router = APIRouter(prefix="/projects/{project}", tags=["library"])


@router.get("/library")
def list_components(scope: Viewer, deps: DepsOf) -> wire.Library:
    """Every version, by name, the newest first."""
    catalog = deps.library.catalog(deps.settings.components)
    return wire.Library(items=[shapes.component(one) for one in catalog.all()])


@router.get("/library/{component}")
def get_component(component: str, scope: Viewer, deps: DepsOf) -> wire.LibraryComponent:
    """`component` is NAME or NAME@VERSION; its page of docs comes with it."""
    catalog = deps.library.catalog(deps.settings.components)
    try:
        found = catalog.find(ComponentRef.parse(component))
    except BadName:
        found = None
    if found is None:
        raise access.not_found("component", component, [one.component.name for one in catalog.all()])
    readme = found.folder / (found.component.docs or "README.md")
    return shapes.component(found, readme.read_text("utf-8") if readme.is_file() else None)
