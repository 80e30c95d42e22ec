"""Mounts: members see those their projects may use, administrators change them."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter

from millpond.api.access import DepsOf, SignedIn, SiteAdmin
from millpond.model.mount import SharedMount
from millpond.services.places import mounts
from millpond.wire import mounts as wire
from millpond.wire.base import Page

router = APIRouter(prefix="/mounts", tags=["mounts"])


@router.get("")
def list_mounts(actor: SignedIn, deps: DepsOf) -> Page[wire.SharedMount]:
    """All of them at once, by name."""
    return Page(items=[_mount(*one) for one in mounts.list_all(deps, actor)], next=None)


@router.post("", status_code=201)
def create_mount(body: wire.MountCreate, actor: SiteAdmin, deps: DepsOf) -> wire.SharedMount:
    """Let jobs mount a directory that exists on the machines of a site, or of all."""
    made = mounts.add(
        deps,
        actor,
        body.name,
        body.path,
        site=body.site,
        read_only=body.read_only,
        all_projects=body.all,
        project_names=body.projects,
    )
    return _mount(*mounts.with_projects(deps, actor, made))


@router.post("/{mount}/allow")
def allow_mount(mount: str, body: wire.MountChange, actor: SiteAdmin, deps: DepsOf) -> wire.SharedMount:
    """Let jobs of these projects, or of all, mount it."""
    changed = mounts.allow(deps, actor, mount, body.projects, everyone=body.all)
    return _mount(*mounts.with_projects(deps, actor, changed))


@router.post("/{mount}/deny")
def deny_mount(mount: str, body: wire.MountChange, actor: SiteAdmin, deps: DepsOf) -> wire.SharedMount:
    """Take that back. Running jobs keep it."""
    changed = mounts.deny(deps, actor, mount, body.projects, everyone=body.all)
    return _mount(*mounts.with_projects(deps, actor, changed))


@router.delete("/{mount}", status_code=204)
def delete_mount(mount: str, actor: SiteAdmin, deps: DepsOf) -> None:
    """Refused while unfinished jobs use it. The directory itself stays."""
    mounts.remove(deps, actor, mount)


def _mount(value: SharedMount, projects: Sequence[str]) -> wire.SharedMount:
    return wire.SharedMount(
        name=value.name,
        path=value.path,
        site=value.site,
        read_only=value.read_only,
        all=value.all_projects,
        projects=list(projects),
        created_at=value.created_at,
        created_by=value.created_by,
        changed_at=value.changed_at,
        changed_by=value.changed_by,
    )
