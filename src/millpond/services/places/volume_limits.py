"""What each project may take of a volume at most."""

from __future__ import annotations

from millpond.db import shares
from millpond.model.people import Actor
from millpond.model.quantity import format_bytes
from millpond.services.caches.access import find_volume
from millpond.services.deps import Deps
from millpond.services.people import access, audit
from millpond.services.places.volume_views import VolumeView, view_of


def put(deps: Deps, actor: Actor, volume: str, project: str, limit: int) -> VolumeView:
    """Give a project a limit, or another one. What it has above it goes by itself, least recently used first."""
    return _set(deps, actor, volume, project, limit)


def remove(deps: Deps, actor: Actor, volume: str, project: str) -> VolumeView:
    """From now on the project may take what is free. Removing a limit that is not there changes nothing."""
    return _set(deps, actor, volume, project, None)


def _set(deps: Deps, actor: Actor, volume_name: str, project_name: str, limit: int | None) -> VolumeView:
    now = deps.clock.now()
    with deps.db.write() as tx:
        volume = find_volume(tx, volume_name)
        project = access.find_project(tx, actor, project_name)
        had = shares.limits_by_project(tx, volume.id).get(project.id)
        if limit is None:
            shares.remove_limit(tx, volume.id, project.id)
        else:
            shares.set_limit(tx, volume.id, project.id, limit)
        audit.record(
            tx,
            now=now,
            actor=actor,
            action="volume.limit",
            subject=volume.name,
            project_id=project.id,
            details={"limit": "none" if limit is None else format_bytes(limit)},
            before={"limit_bytes": had},
            after={"limit_bytes": limit},
        )
        view = view_of(tx, volume, now, actor)
    data = {"id": volume.id, "what": "volume", "volume": volume.name, "change": "changed"}
    deps.events.publish("caches", project_id=None, data=data)
    deps.events.wake("housekeeping")
    return view
