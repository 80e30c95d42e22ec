"""Volumes: the directories that hold cached commits."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from millpond.api.access import DepsOf, SignedIn, SiteAdmin
from millpond.api.paging import DEFAULT_LIMIT, Cursor, Limit, page
from millpond.api.shapes import places as shapes
from millpond.services.places import volume_limits, volumes
from millpond.wire import cache as wire
from millpond.wire.base import Page

router = APIRouter(prefix="/volumes", tags=["volumes"])


@router.get("")
def list_volumes(
    actor: SignedIn, deps: DepsOf, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None
) -> Page[wire.Volume]:
    return page(volumes.list_all(deps, actor, limit=limit, cursor=cursor), shapes.volume)


@router.post("", status_code=201)
def create_volume(body: wire.VolumeCreate, actor: SiteAdmin, deps: DepsOf) -> wire.Volume:
    return shapes.volume(volumes.create(deps, actor, **body.model_dump()))


@router.get("/{volume}")
def get_volume(volume: str, actor: SignedIn, deps: DepsOf) -> wire.Volume:
    return shapes.volume(volumes.get(deps, volume, actor))


@router.patch("/{volume}")
def change_volume(volume: str, body: wire.VolumeChange, actor: SiteAdmin, deps: DepsOf) -> wire.Volume:
    return shapes.volume(volumes.change(deps, actor, volume, **body.model_dump(exclude_none=True)))


@router.delete("/{volume}", status_code=204)
def delete_volume(
    volume: str,
    actor: SiteAdmin,
    deps: DepsOf,
    force: Annotated[bool, Query(description="Clear cached commits that are neither leased nor pinned first.")] = False,
) -> None:
    """Refused while commits are cached there; the answer says which."""
    volumes.delete(deps, actor, volume, force=force)


@router.put("/{volume}/limits/{project}")
def put_volume_limit(
    volume: str, project: str, body: wire.VolumeLimitPut, actor: SiteAdmin, deps: DepsOf
) -> wire.Volume:
    """What a project may take there at most; what it has above that goes, least recently used first."""
    return shapes.volume(volume_limits.put(deps, actor, volume, project, body.bytes))


@router.delete("/{volume}/limits/{project}")
def delete_volume_limit(volume: str, project: str, actor: SiteAdmin, deps: DepsOf) -> wire.Volume:
    return shapes.volume(volume_limits.remove(deps, actor, volume, project))
