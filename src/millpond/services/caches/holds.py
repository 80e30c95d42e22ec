"""People's leases: a cached commit held for a time, by wish or by reading it."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import Connection

from millpond.db import caches, leases, users
from millpond.db.caches import CachedView
from millpond.errors import Forbidden, NotFound, NotReady
from millpond.model.cached_state import CachedState
from millpond.model.people import Actor, Role
from millpond.model.volume import LeaseKind
from millpond.services.caches.access import (
    announce,
    audit_cache,
    find_cached,
    lock_cached,
    require_member,
    require_role,
)
from millpond.services.caches.explain.details import CachedDetails, details
from millpond.services.caches.uses import count_hit
from millpond.services.deps import Deps
from millpond.services.people.access import not_found

HOLD_SECONDS = 8 * 3600
# Reading is renewed while it goes on, and ended when it does: this is how long a reader that was killed is waited for.
READ_SECONDS = 15 * 60
# The reader that stands for somebody who looks at the files in the page.
PAGE = "page"


def hold(
    deps: Deps,
    actor: Actor,
    cached_id: str,
    *,
    kind: LeaseKind = LeaseKind.HOLD,
    reader: str | None = None,
    seconds: int | None = None,
    reason: str = "",
) -> CachedDetails:
    """Hold it until a time, or for longer than before. Reading takes viewers, holding by wish members.

    `reader` tells readers of one user apart: each ends with its own release. NotReady for what is not there, or not to
    be used any more: its dataset was deleted, or it is on its way out. Who reads it already may read on: it goes when
    the last one is done.
    """
    now = deps.clock.now()
    is_reading = kind is LeaseKind.READ
    with deps.db.write() as tx:
        _, view = lock_cached(tx, actor, cached_id, Role.VIEWER)
        user_id = _user(actor)
        if not is_reading:
            require_member(actor, view.cached.project_id, view.project)
        if not (is_reading and _reads_on(tx, view, user_id, reader, now)):
            check_may_use(view, whole=is_reading)
        seconds = READ_SECONDS if is_reading else seconds or HOLD_SECONDS
        until = now + timedelta(seconds=seconds)
        is_new = leases.hold_for_user(
            tx, cached_id, user_id, kind=kind, until=until, reason=reason, now=now,
            reader=reader if is_reading else None,
        )  # fmt: skip
        caches.touch(tx, [cached_id], now)
        if is_reading and is_new:
            count_hit(tx, view.cached, now)
        if not is_reading:
            audit_cache(tx, actor, "cache.hold", view, now, seconds=seconds)
        shown = _details(tx, actor, cached_id, now)
    if is_new or not is_reading:
        announce(deps, [view], "changed")
    return shown


def release(
    deps: Deps, actor: Actor, cached_id: str, *, reader: str | None = None, user: str | None = None
) -> CachedDetails:
    """End one's own holds, by wish and by reading, or what one reader has. Its idle time begins now.

    Administrators of the project end what another `user` holds by wish; who reads it is not disturbed.
    """
    now = deps.clock.now()
    with deps.db.write() as tx:
        _, view = lock_cached(tx, actor, cached_id, Role.VIEWER)
        if user is None:
            is_released = leases.release_user(tx, cached_id, _user(actor), reader=reader)
        else:
            is_released = leases.release_wish(tx, cached_id, _other(tx, actor, view, user))
        if is_released:
            caches.touch(tx, [cached_id], now)
            if reader is None:
                audit_cache(tx, actor, "cache.release", view, now, user=user or actor.name)
        shown = _details(tx, actor, cached_id, now)
    announce(deps, [view], "changed")
    return shown


def _other(tx: Connection, actor: Actor, view: CachedView, name: str) -> str:
    """The id of somebody whose hold an administrator may end."""
    require_role(actor, view.cached.project_id, view.project, Role.ADMIN)
    found = users.find(tx, name)
    if found is None:
        raise not_found("user", name)
    return found.id


def looked_at(deps: Deps, actor: Actor, commit_id: str) -> None:
    """Somebody browses a commit's files: where it is cached, that counts as reading. Written once a minute at most."""
    if actor.user_id is None:
        return
    now = deps.clock.now()
    until = now + timedelta(seconds=READ_SECONDS)
    with deps.db.read() as tx:
        usable = [view for view in caches.of_commits(tx, [commit_id]) if _may_be_read(view)]
        known = leases.reads_until(tx, [view.cached.id for view in usable], actor.user_id, PAGE)
    for view in usable:
        if until - known.get(view.cached.id, now) > _LOOK_AGAIN:
            _look(deps, actor, actor.user_id, view.cached.id, until, now)


def _look(deps: Deps, actor: Actor, user_id: str, cached_id: str, until: datetime, now: datetime) -> None:
    with deps.db.write() as tx:
        try:
            _, view = lock_cached(tx, actor, cached_id, Role.VIEWER)
        except NotFound:
            return  # gone meanwhile
        if _may_be_read(view):
            leases.hold_for_user(
                tx, cached_id, user_id, kind=LeaseKind.READ, until=until, reason="reading its files", now=now,
                reader=PAGE,
            )  # fmt: skip
            caches.touch(tx, [cached_id], now)


_LOOK_AGAIN = timedelta(seconds=60)


def _may_be_read(view: CachedView) -> bool:
    return view.cached.state is CachedState.READY and view.leaving is None


def check_may_use(view: CachedView, *, whole: bool) -> None:
    """NotReady unless something new may use it; `whole`: and read it now."""
    if view.leaving is not None or view.cached.state is CachedState.EVICTING:
        why = f": {view.leaving}" if view.leaving else ""
        again = f"mill cache add {view.project}/{view.dataset}@{view.cached.commit_id[:8]} --on {view.volume}"
        hint = f"Restore its dataset first: mill data undelete {view.dataset}" if view.is_deleted else again
        raise NotReady(f"{view.written} is being evicted from {view.volume}{why}.", hint=hint)
    if view.cached.state is CachedState.FAILED or (whole and view.cached.state is not CachedState.READY):
        raise NotReady(f"{view.written} is not fully cached on {view.volume} ({view.cached.state.value}).")


def _reads_on(tx: Connection, view: CachedView, user_id: str, reader: str | None, now: datetime) -> bool:
    """Whether this reader has it already."""
    if reader is None:
        return False
    return leases.reads_until(tx, [view.cached.id], user_id, reader).get(view.cached.id, now) > now


def _user(actor: Actor) -> str:
    if actor.user_id is None:
        raise Forbidden("Only people can hold cached commits. Jobs hold their inputs automatically.")
    return actor.user_id


def _details(tx: Connection, actor: Actor, cached_id: str, now: datetime) -> CachedDetails:
    return details(tx, actor, [find_cached(tx, actor, cached_id, Role.VIEWER)], now)[0]
