"""Secrets of a project: members' jobs use them, its administrators set them, nobody reads them."""

from __future__ import annotations

from fastapi import APIRouter

from millpond.api.access import Admin, DepsOf, Member
from millpond.api.paging import DEFAULT_LIMIT, Cursor, Limit, page
from millpond.model.people import Project
from millpond.model.secret import ProjectSecret
from millpond.services.people import secrets
from millpond.wire import secrets as wire
from millpond.wire.base import Page

router = APIRouter(prefix="/projects/{project}/secrets", tags=["secrets"])


@router.get("")
def list_secrets(scope: Member, deps: DepsOf, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None) -> Page[wire.Secret]:
    """Their names, never their values."""
    found = secrets.list_all(deps, scope.project, limit=limit, cursor=cursor)
    return page(found, lambda item: _secret(scope.project, item))


@router.put("/{secret}")
def put_secret(secret: str, body: wire.SecretPut, scope: Admin, deps: DepsOf) -> wire.Secret:
    """New, or with another value from now on."""
    return _secret(scope.project, secrets.put(deps, scope.actor, scope.project, secret, body.value))


@router.delete("/{secret}", status_code=204)
def delete_secret(secret: str, scope: Admin, deps: DepsOf) -> None:
    """Refused while jobs that have not ended are given it."""
    secrets.delete(deps, scope.actor, scope.project, secret)


def _secret(project: Project, value: ProjectSecret) -> wire.Secret:
    return wire.Secret(
        id=value.id,
        project=project.name,
        name=value.name,
        created_at=value.created_at,
        created_by=value.created_by,
        changed_at=value.changed_at,
        changed_by=value.changed_by,
    )
