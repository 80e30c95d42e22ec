"""Find cached commits and volumes for somebody, lock them, check that nobody uses them; audit and announce changes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection

from millpond.db import caches, leases, mirrors, policies, volumes
from millpond.db.caches import CachedView
from millpond.errors import BadRequest, Forbidden, InUse
from millpond.model.people import Actor, Role
from millpond.model.volume import Volume
from millpond.services.deps import Deps
from millpond.services.people import access, audit


def find_cached(tx: Connection, actor: Actor, cached_id: str, needed: Role) -> CachedView:
    """NotFound for one that does not exist or that the actor may not see, Forbidden if the role is too small."""
    view = caches.get(tx, cached_id)
    if view is None or not access.sees(actor, view.cached.project_id):
        raise access.not_found("cached commit", cached_id)
    if needed is not Role.VIEWER:
        require_member(actor, view.cached.project_id, view.project)
    return view


def lock_cached(tx: Connection, actor: Actor, cached_id: str, needed: Role = Role.MEMBER) -> tuple[Volume, CachedView]:
    """The volume, alone until the transaction ends, and the cached commit as it is then."""
    volume = volumes.lock(tx, find_cached(tx, actor, cached_id, needed).cached.volume_id)
    if volume is None:
        raise access.not_found("cached commit", cached_id)
    return volume, find_cached(tx, actor, cached_id, needed)  # again, now that nobody else changes it


def require_member(actor: Actor, project_id: str, project: str) -> None:
    require_role(actor, project_id, project, Role.MEMBER)


def require_role(actor: Actor, project_id: str, project: str, needed: Role) -> None:
    role = actor.role_in(project_id)
    if role is None or not role.includes(needed):
        raise Forbidden(
            f"This needs the role {needed.value} in project {project!r}.",
            hint="Ask a project administrator.",
            needed=needed.value,
        )


def check_unused(tx: Connection, actor: Actor, view: CachedView, now: datetime) -> None:
    """InUse, naming what stands in the way, while it is leased, pinned or kept."""
    held = leases.holders(tx, [view.cached.id], now).get(view.cached.id, ())
    users = [holder.shown(lambda project_id: access.sees(actor, project_id)) for holder in held]
    where = f"{view.written} on {view.volume}"
    if users:
        raise InUse(
            f"{where} is in use by {', '.join(users)}.",
            hint="It can be cleared when they have ended. Holders can end their hold with `mill cache "
            "release`; project administrators can do it for them with `--of USER`.",
            depends=users,
        )
    if view.cached.pinned:
        by = f" by {view.cached.pinned_by}" if view.cached.pinned_by else ""
        raise InUse(f"{where} is pinned{by}.", hint="Unpin it first: mill cache unpin", depends=["a pin"])
    branch = policies.kept_on(tx, view.cached.volume_id).get(view.cached.commit_id)
    if branch is not None:
        raise InUse(
            f"{where} is kept there as the newest commit of {branch}.",
            hint=f"Stop keeping it first: mill cache unkeep {view.project}/{view.dataset}@{branch} --on {view.volume}",
            depends=[f"the policy for {branch}"],
        )
    mirror = mirrors.kept_on(tx, view.cached.volume_id).get(view.cached.commit_id)
    if mirror is not None:
        raise InUse(
            f"{where} is kept there by mirror {mirror!r}.",
            hint=f"Remove the mirror first: mill mirror rm {mirror}",
            depends=[f"mirror {mirror}"],
        )


def audit_cache(
    tx: Connection, actor: Actor, action: str, view: CachedView, now: datetime, *,
    before: dict[str, object] | None = None, after: dict[str, object] | None = None, **details: object,
) -> None:  # fmt: skip
    audit.record(
        tx,
        now=now,
        actor=actor,
        action=action,
        subject=view.written,
        project_id=view.cached.project_id,
        details={"volume": view.volume, **details},
        before=before,
        after=after,
    )


def announce(deps: Deps, rows: Sequence[CachedView], what: str = "changed") -> None:
    """Tell pages and agents about cached commits that changed; after the transaction."""
    for view in rows:
        row = view.cached
        data = {
            "project": view.project,
            "id": row.id,
            "what": what,
            "dataset": view.dataset,
            "commit": row.commit_id,
            "volume": view.volume,
            "state": row.state.value,
            "done_bytes": row.done_bytes,
            "done_files": row.done_files,
            "bytes": row.bytes,
            "files": row.files,
        }
        deps.events.publish("caches", project_id=row.project_id, data=data)
    if rows and what != "progress":
        deps.events.wake("agents")
        deps.events.wake("caches")


def find_volume(tx: Connection, name: str) -> Volume:
    """Everybody who is signed in sees the volumes."""
    found = volumes.find(tx, name)
    if found is None:
        raise access.not_found("volume", name, volumes.names(tx))
    return found


def named_volume(tx: Connection, volume: str | None, near: str | None) -> Volume | None:
    """The volume asked for; None where one is to be chosen."""
    if volume is not None and near is not None:
        raise BadRequest("Give a volume or a compute to be near to, not both.", hint="Leave out one of them.")
    return None if volume is None else find_volume(tx, volume)
