"""Connections of a project: places outside the lake it may import from. Credentials come in and never go out."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import StreamingResponse

from millpond.api.access import Admin, DepsOf, InProject, Member, Scope, Viewer
from millpond.api.paging import DEFAULT_LIMIT, Cursor, Limit, page
from millpond.api.shapes.credentials import plain_credentials
from millpond.model.connection import PlaceKind, ProjectConnection
from millpond.model.people import Project, Role
from millpond.services.sources import connections, moving
from millpond.wire import imports as wire
from millpond.wire.base import Page

router = APIRouter(prefix="/projects/{project}/connections", tags=["connections"])
MemberOrJob = Annotated[Scope, InProject(Role.MEMBER, placements=True)]


@router.get("")
def list_connections(
    scope: Viewer, deps: DepsOf, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None
) -> Page[wire.Connection]:
    found = connections.list_all(deps, scope.project, limit=limit, cursor=cursor)
    return page(found, lambda item: _connection(scope.project, item))


@router.post("", status_code=201)
def create_connection(body: wire.ConnectionCreate, scope: Admin, deps: DepsOf) -> wire.Connection:
    """Refused for the lake's own bucket, and for addresses that are neither public nor listed by an administrator."""
    given = body.model_dump(exclude={"credentials"})
    made = connections.create(
        deps, scope.actor, scope.project, **given, credentials=plain_credentials(body.credentials)
    )
    return _connection(scope.project, made)


@router.get("/{connection}")
def get_connection(connection: str, scope: Viewer, deps: DepsOf) -> wire.Connection:
    return _connection(scope.project, connections.get(deps, scope.project, connection))


@router.patch("/{connection}")
def change_connection(connection: str, body: wire.ConnectionChange, scope: Admin, deps: DepsOf) -> wire.Connection:
    changed = connections.get(deps, scope.project, connection)
    if "writable" in body.model_fields_set:
        changed = connections.allow_writing(deps, scope.actor, scope.project, connection, writable=body.writable)
    if "credentials" in body.model_fields_set:
        given = plain_credentials(body.credentials)
        changed = connections.change(deps, scope.actor, scope.project, connection, given)
    return _connection(scope.project, changed)


@router.delete("/{connection}", status_code=204)
def delete_connection(connection: str, scope: Admin, deps: DepsOf, force: bool = False) -> None:
    """Refused while sources use it; while commits need it, too, unless `force`."""
    connections.delete(deps, scope.actor, scope.project, connection, force=force)


@router.post("/{connection}/test")
def test_connection(connection: str, scope: Member, deps: DepsOf) -> wire.ConnectionTest:
    """Whether the place answers and may be read."""
    found = connections.test(deps, connections.get(deps, scope.project, connection))
    return wire.ConnectionTest.model_validate(found)


@router.get("/{connection}/objects", response_class=StreamingResponse)
def list_external_objects(
    connection: str, uri: Annotated[str, Query(max_length=4000)], scope: MemberOrJob, deps: DepsOf
) -> StreamingResponse:
    """Everything below `uri`, a line of JSON for each object: uri, size, etag. The last line is `{"end": true}`, or has
    the problem."""
    lines = moving.listed(deps, connections.get(deps, scope.project, connection), uri)
    return StreamingResponse(lines, media_type="application/x-ndjson")


@router.post("/{connection}/urls")
def sign_object_urls(connection: str, body: wire.ObjectUrls, scope: MemberOrJob, deps: DepsOf) -> wire.SignedUrls:
    """URLs with which objects are read, put or removed straight in their bucket."""
    found = connections.get(deps, scope.project, connection)
    return wire.SignedUrls(urls=moving.signed(deps, found, body.method, body.uris))


def _connection(project: Project, value: ProjectConnection) -> wire.Connection:
    place = value.place
    return wire.Connection(
        id=value.id,
        project=project.name,
        name=value.name,
        kind=place.kind,
        url=place.root,
        endpoint=place.endpoint,
        region=place.region if place.kind == PlaceKind.S3 else None,
        has_credentials=value.sealed is not None,
        created_at=value.created_at,
        created_by=value.created_by,
        writable=value.writable,
    )
