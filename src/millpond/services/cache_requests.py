"""Caches as people use them: asking for a commit on a volume, looking, clearing, pinning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection

from millpond.db import caches, leases, volumes
from millpond.db import evictions as eviction_rows
from millpond.db.caches import CachedView
from millpond.db.evictions import EvictionView
from millpond.db.leases import Holder
from millpond.decide.admission import usable_room
from millpond.decide.eviction import Evict
from millpond.decide.stock import used_room
from millpond.errors import BadRequest, Forbidden, InUse, VolumeProblem
from millpond.model.people import Actor, Role
from millpond.model.volume import CachedState, Volume
from millpond.services import access, audit, datasets, listing, refs
from millpond.services.admission import Begun, begin_fill, check_usable, mark_evictions
from millpond.services.caches import announce
from millpond.services.deps import Deps
from millpond.services.listing import Listing, page_of, text_of
from millpond.services.presence import is_connected
from millpond.services.stock import space_of, stock_of
from millpond.wire import cache as wire


@dataclass(frozen=True, slots=True)
class CacheFilter:
    """Names of a volume, a project, and a dataset in written form."""

    volume: str | None = None
    project: str | None = None
    dataset: str | None = None


def request(deps: Deps, actor: Actor, asked: wire.CacheAdd) -> wire.CacheAdded:
    """Have a commit cached, once and only once, whoever asks. Without a volume the emptiest one is chosen."""
    now = deps.clock.now()
    with deps.db.write() as tx:
        dataset, ref = datasets.find_written(tx, actor, asked.dataset, project=asked.project)
        _require_member(actor, dataset.project_id, dataset.project)
        commit = refs.resolve(tx, dataset, ref)
        size = caches.size_of(tx, commit.id)
        if size is None:
            raise access.not_found("dataset", dataset.name)
        volume = _chosen(tx, asked.volume, commit.id, now)
        if volume.problem is not None:
            check_usable(volume)  # what was cached there cannot be read now
        begun = begin_fill(
            tx, volume, size, requested_by=actor.name, now=now, sees=lambda project_id: access.sees(actor, project_id)
        )
        if begun.started:
            _audit(tx, actor, "cache.add", begun.cached, now)
        shape = _shapes(tx, actor, [begun.cached], now)[0]
    if begun.started:
        announce(deps, [begun.cached, *begun.evicting], "changed")
    return wire.CacheAdded(cached=shape, started=begun.started, reasons=_reasons(deps, volume, begun))


def list_visible(
    deps: Deps, actor: Actor, chosen: CacheFilter, *, limit: int, cursor: str | None
) -> Listing[wire.CachedCommit]:
    now = deps.clock.now()
    with deps.db.read() as tx:
        among = access.visible_projects(actor)
        if chosen.project is not None:
            among = {access.find_project(tx, actor, chosen.project).id}
        dataset_id = volume_id = None
        if chosen.dataset is not None:
            dataset_id = datasets.find_written(tx, actor, chosen.dataset, project=chosen.project)[0].id
        if chosen.volume is not None:
            volume_id = find_volume(tx, chosen.volume).id
        found = caches.page_of(
            tx, among=among, limit=limit + 1, after=text_of(cursor), volume_id=volume_id, dataset_id=dataset_id
        )
        shown = _shapes(tx, actor, found, now)
    return page_of(shown, limit, key=lambda item: item.id)


def get(deps: Deps, actor: Actor, cached_id: str) -> wire.CachedCommit:
    now = deps.clock.now()
    with deps.db.read() as tx:
        return _shapes(tx, actor, [_find(tx, actor, cached_id, Role.VIEWER)], now)[0]


def clear(deps: Deps, actor: Actor, cached_id: str) -> None:
    """Have it removed. InUse while it is leased (naming by whom) or pinned; clearing it twice is once."""
    now = deps.clock.now()
    with deps.db.write() as tx:
        volume, view = _lock(tx, actor, cached_id)
        if view.cached.state is CachedState.EVICTING:
            return
        _check_unused(tx, actor, view, now)
        marked = mark_evictions(tx, volume, [Evict(view.cached.id, f"cleared by {actor.name}")])
        _audit(tx, actor, "cache.clear", view, now)
    announce(deps, marked, "evicting")


def pin(deps: Deps, actor: Actor, cached_id: str, *, pinned: bool) -> wire.CachedCommit:
    """Pinned commits are never evicted."""
    now = deps.clock.now()
    with deps.db.write() as tx:
        _, view = _lock(tx, actor, cached_id)
        if pinned and view.cached.state is CachedState.EVICTING:
            raise InUse(f"{view.written} is on its way out already.", hint="Ask for it again in a moment.")
        caches.change(tx, cached_id, pinned=pinned)
        _audit(tx, actor, "cache.pin" if pinned else "cache.unpin", view, now)
        view = _find(tx, actor, cached_id, Role.MEMBER)
        shape = _shapes(tx, actor, [view], now)[0]
    announce(deps, [view], "changed")
    return shape


def evictions(deps: Deps, actor: Actor, *, limit: int, cursor: str | None) -> Listing[EvictionView]:
    """What was evicted and why, newest first."""
    with deps.db.read() as tx:
        among = access.visible_projects(actor)
        found = eviction_rows.newest(tx, among=among, limit=limit + 1, before=_before(cursor))
    return page_of(found, limit, key=lambda item: [item.at.isoformat(), item.id])


def find_volume(tx: Connection, name: str) -> Volume:
    """Everybody who is signed in sees the volumes."""
    found = volumes.find(tx, name)
    if found is None:
        raise access.not_found("volume", name, volumes.names(tx))
    return found


def _chosen(tx: Connection, name: str | None, commit_id: str, now: datetime) -> Volume:
    """The volume asked for; else one that has the commit already; else the emptiest that is well. Locked."""
    if name is not None:
        chosen = find_volume(tx, name)
    else:
        there = {view.cached.volume_id for view in caches.of_commits(tx, [commit_id])}
        well = [volume for volume in volumes.all_of(tx) if volume.problem is None and volume.capacity_bytes > 0]
        if not well:
            raise VolumeProblem("There is no volume that can be used.", hint="`mill volume add NAME PATH` adds one.")
        chosen = max(well, key=lambda volume: (volume.id in there, _free(tx, volume, now), volume.name))
    locked = volumes.lock(tx, chosen.id)
    if locked is None:
        raise access.not_found("volume", chosen.name, volumes.names(tx))
    return locked


def _free(tx: Connection, volume: Volume, now: datetime) -> int:
    stock = stock_of(tx, volume.id, now)
    return usable_room(space_of(volume), stock).bytes - used_room(stock).bytes


def _find(tx: Connection, actor: Actor, cached_id: str, needed: Role) -> CachedView:
    view = caches.get(tx, cached_id)
    if view is None or not access.sees(actor, view.cached.project_id):
        raise access.not_found("cached commit", cached_id)
    if needed is not Role.VIEWER:
        _require_member(actor, view.cached.project_id, view.project)
    return view


def _lock(tx: Connection, actor: Actor, cached_id: str) -> tuple[Volume, CachedView]:
    volume = volumes.lock(tx, _find(tx, actor, cached_id, Role.MEMBER).cached.volume_id)
    if volume is None:
        raise access.not_found("cached commit", cached_id)
    return volume, _find(tx, actor, cached_id, Role.MEMBER)  # again, now that nobody else changes it


def _require_member(actor: Actor, project_id: str, project: str) -> None:
    role = actor.role_in(project_id)
    if role is None or not role.includes(Role.MEMBER):
        raise Forbidden(
            f"This needs the role member in project {project!r}.",
            hint="Ask an administrator of the project.",
            needed=Role.MEMBER.value,
        )


def _check_unused(tx: Connection, actor: Actor, view: CachedView, now: datetime) -> None:
    held = leases.holders(tx, [view.cached.id], now).get(view.cached.id, ())
    users = [holder.shown(lambda project_id: access.sees(actor, project_id)) for holder in held]
    if users:
        raise InUse(
            f"{view.written} on {view.volume} is in use by {', '.join(users)}.",
            hint="It can be cleared once they have ended.",
            depends=users,
        )
    if view.cached.pinned:
        raise InUse(f"{view.written} on {view.volume} is pinned.", hint="Unpin it first.", depends=["a pin"])


def _reasons(deps: Deps, volume: Volume, begun: Begun) -> list[str]:
    reasons = list(begun.reasons)
    if begun.started and not is_connected(volume.seen_at, deps.clock.now()):
        reasons.append(f"the agent of site {volume.site} is away; the fill begins when it is back")
    return reasons


def _shapes(tx: Connection, actor: Actor, found: Sequence[CachedView], now: datetime) -> list[wire.CachedCommit]:
    held = leases.holders(tx, [view.cached.id for view in found], now)
    return [_shape(actor, view, held.get(view.cached.id, ())) for view in found]


def _shape(actor: Actor, view: CachedView, holders: Sequence[Holder]) -> wire.CachedCommit:
    row = view.cached
    is_idle = row.state is CachedState.READY and not row.pinned and not holders
    idle = timedelta(seconds=view.volume_idle_seconds if row.idle_seconds is None else row.idle_seconds)
    return wire.CachedCommit(
        id=row.id,
        volume=view.volume,
        site=view.site,
        project=view.project,
        dataset=view.dataset,
        dataset_id=row.dataset_id,
        commit_id=row.commit_id,
        path=f"{view.volume_path.rstrip('/')}/commits/{row.project_id}/{row.dataset_id}/{row.commit_id}",
        state=row.state,
        bytes=row.bytes,
        files=row.files,
        done_bytes=row.done_bytes,
        done_files=row.done_files,
        requested_by=row.requested_by,
        requested_at=row.requested_at,
        ready_at=row.ready_at,
        used_at=row.used_at,
        expires_at=row.used_at + idle if is_idle else None,
        pinned=row.pinned,
        leased_by=[_holder(actor, holder) for holder in holders],
        reason=row.reason,
        problem=row.problem,
    )


def _holder(actor: Actor, holder: Holder) -> wire.LeaseHolder:
    job = holder.job if holder.job is None or access.sees(actor, holder.project_id) else "another project"
    return wire.LeaseHolder(job=job, user=holder.user, since=holder.since, until=holder.until)


def _before(cursor: str | None) -> tuple[datetime, str] | None:
    if cursor is None:
        return None
    match listing.decode(cursor):
        case [str(at), str(key)]:
            try:
                return datetime.fromisoformat(at), key
            except ValueError:
                pass
    raise BadRequest(f"{cursor[:80]!r} is not a cursor of this list.")


def _audit(tx: Connection, actor: Actor, action: str, view: CachedView, now: datetime) -> None:
    audit.record(
        tx,
        now=now,
        actor=actor,
        action=action,
        subject=view.written,
        project_id=view.cached.project_id,
        details={"volume": view.volume},
    )
