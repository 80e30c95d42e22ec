"""Volumes: added, changed, removed, and what is used and free on each."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from millpond.db import caches, leases, volumes, workspaces
from millpond.db.caches import CachedView
from millpond.decide.eviction import Evict
from millpond.errors import BadPath, InUse, Invalid, NameTaken
from millpond.model.cached_state import CachedState
from millpond.model.ids import new_id
from millpond.model.names import check_name
from millpond.model.people import SYSTEM, Actor
from millpond.model.quantity import DAY, format_count
from millpond.model.tier import STANDARD
from millpond.model.volume import Cause, Volume
from millpond.services.caches.access import announce, find_volume
from millpond.services.caches.admission.admit import mark_evictions
from millpond.services.caches.fills.reports import RESERVE_PERCENT
from millpond.services.deps import Deps
from millpond.services.listing import Listing, page_of, text_of
from millpond.services.people import audit
from millpond.services.places import sites
from millpond.services.places.tiers import TIERS_TOPIC, check_setter, numbers_of
from millpond.services.places.volume_views import VolumeView, view_of

_NAMED = 10


def create(
    deps: Deps,
    actor: Actor,
    *,
    name: str,
    path: str,
    site: str,
    capacity_bytes: int | None = None,
    reserve_bytes: int | None = None,
    idle_seconds: int = DAY,
    high_percent: int = 90,
    low_percent: int = 75,
    tier: str = STANDARD,
    tier_throughput: float | None = None,
    tier_price: float | None = None,
    tier_by: str | None = None,
) -> VolumeView:
    """Add a directory at a site. Without a capacity its agent measures the disk when it first looks.

    The reserve is 5 % of the capacity unless given (0 without a capacity means the same).
    """
    _check_watermarks(high_percent, low_percent)
    capacity = capacity_bytes or 0
    reserve = reserve_bytes
    if reserve is None:
        reserve = capacity * RESERVE_PERCENT // 100
    _check_reserve(capacity, reserve)
    now = deps.clock.now()
    if tier_by is not None:
        check_setter(deps, tier_by)
    with deps.db.read() as tx:
        place = sites.find(tx, site)
        given = {"tier_throughput": tier_throughput, "tier_price": tier_price}
        numbers = numbers_of(tx, tier, {name: value for name, value in given.items() if value is not None})
    volume = Volume(
        id=new_id(),
        name=check_name(name, "volume"),
        site_id=place.id,
        site=place.name,
        path=_checked_path(path),
        capacity_bytes=capacity,
        reserve_bytes=reserve,
        idle_seconds=idle_seconds,
        high_percent=high_percent,
        low_percent=low_percent,
        created_at=now,
        tier=tier,
        tier_by=tier_by,
        tier_throughput=numbers["tier_throughput"],
        tier_price=numbers["tier_price"],
    )
    try:
        with deps.db.write() as tx:
            volumes.insert(tx, volume)
            audit.record(tx, now=now, actor=actor, action="volume.create", subject=volume.name, after=_told(volume))
            view = view_of(tx, volume, now, actor)
    except IntegrityError as error:
        raise _taken(deps, volume) from error
    _tell(deps, volume, "created")
    return view


def get(deps: Deps, name: str, actor: Actor = SYSTEM) -> VolumeView:
    with deps.db.read() as tx:
        return view_of(tx, find_volume(tx, name), deps.clock.now(), actor)


def list_all(deps: Deps, actor: Actor = SYSTEM, *, limit: int, cursor: str | None) -> Listing[VolumeView]:
    now = deps.clock.now()
    with deps.db.read() as tx:
        found = volumes.page(tx, limit=limit + 1, after=text_of(cursor))
        shown = [view_of(tx, volume, now, actor) for volume in found]
    return page_of(shown, limit, key=lambda item: item.volume.name)


def change(deps: Deps, actor: Actor, name: str, **values: Any) -> VolumeView:
    """Change settings, named as the fields of `Volume`.

    What no longer fits is not torn out: housekeeping brings the volume below its watermark.
    """
    now = deps.clock.now()
    if values.get("tier_by"):
        check_setter(deps, values["tier_by"])
    with deps.db.write() as tx:
        volume = find_volume(tx, name)
        if "tier_by" in values:
            values["tier_by"] = values["tier_by"] or None
        if "tier" in values:
            values |= numbers_of(tx, values["tier"], values)
        _check_watermarks(
            values.get("high_percent", volume.high_percent), values.get("low_percent", volume.low_percent)
        )
        _check_reserve(
            values.get("capacity_bytes", volume.capacity_bytes), values.get("reserve_bytes", volume.reserve_bytes)
        )
        if values:
            forgotten = {"tier_enforced": None, "tier_set": None} if "tier_by" in values else {}
            volumes.change(tx, volume.id, **values, **forgotten)
            before, after = audit.values_of(volume, *values), audit.values_of(find_volume(tx, name), *values)
            audit.record(tx, now=now, actor=actor, action="volume.change", subject=name, before=before, after=after)
        view = view_of(tx, find_volume(tx, name), now, actor)
    _tell(deps, volume, "changed")
    return view


def delete(deps: Deps, actor: Actor, name: str, *, force: bool) -> None:
    """Forget a volume without cached commits. With `force` what is neither leased nor pinned is cleared first;

    InUse names what is still there: after forcing, ask again once it is gone.
    """
    now = deps.clock.now()
    with deps.db.write() as tx:
        volume = volumes.lock(tx, find_volume(tx, name).id)
        assert volume is not None  # found in this transaction
        _check_no_workspaces(tx, volume)
        marked = mark_evictions(tx, volume, _clearable(tx, volume, actor, now)) if force else ()
        held = caches.of_volume(tx, volume.id)
        names = _described(tx, volume, held, now)
        if not held:
            volumes.delete(tx, volume.id)
            audit.record(tx, now=now, actor=actor, action="volume.delete", subject=name, before=_told(volume))
    announce(deps, marked, "evicting")
    if held:
        going = all(view.cached.state is CachedState.EVICTING for view in held)
        raise _in_use(volume, names, forced=force, clearing=going)
    _tell(deps, volume, "deleted")


def _told(volume: Volume) -> dict[str, Any]:
    """Of a volume, for the audit log."""
    return audit.values_of(
        volume, "site", "path", "capacity_bytes", "reserve_bytes", "idle_seconds", "high_percent", "low_percent", "tier"
    )


def _check_no_workspaces(tx: Connection, volume: Volume) -> None:
    """InUse while there are any, those in the bin included: nothing removes what people wrote with their volume."""
    held = workspaces.of_volume(tx, volume.id)
    if held:
        names = ", ".join(one.name for one in held[:3]) + (" …" if len(held) > 3 else "")
        raise InUse(
            f"Volume {volume.name!r} holds {format_count(len(held), 'workspace')}: {names}.",
            hint="Remove them first, also from the bin: mill workspace rm NAME --purge",
        )


def _described(tx: Connection, volume: Volume, held: Sequence[CachedView], now: datetime) -> list[str]:
    """What a volume holds and what keeps it there, for a site administrator, who sees everything."""
    holders = leases.holders_on(tx, volume.id, now)
    found = []
    for view in held:
        why = [f"used by {holder.shown(lambda _: True)}" for holder in holders.get(view.cached.id, ())]
        why += ["pinned"] if view.cached.pinned else []
        found.append(f"{view.written} ({', '.join([view.cached.state.value, *why])})")
    return found


def _clearable(tx: Connection, volume: Volume, actor: Actor, now: datetime) -> list[Evict]:
    held = leases.holders_on(tx, volume.id, now)
    return [
        Evict(view.cached.id, f"volume removed by {actor.name}", Cause.VOLUME, actor.name)
        for view in caches.of_volume(tx, volume.id)
        if not held.get(view.cached.id) and not view.cached.pinned and view.cached.state is not CachedState.EVICTING
    ]


def _checked_path(text: str) -> str:
    """Absolute and plain; the root itself and what climbs upwards are refused."""
    path = PurePosixPath(text)
    if not path.is_absolute() or ".." in path.parts or path == PurePosixPath("/") or any(c in text for c in "\0\n\r"):
        raise BadPath(f"{text[:200]!r} is not the absolute path of a directory.", hint="Write it as /mnt/nfs/cache.")
    return str(path)


def _check_watermarks(high: int, low: int) -> None:
    if low > high:
        raise Invalid(f"The low watermark ({low} %) is above the high one ({high} %).", fields=["low_percent"])


def _check_reserve(capacity: int, reserve: int) -> None:
    if capacity and reserve >= capacity:
        raise Invalid("The reserve is larger than the capacity.", fields=["reserve_bytes"])


def _taken(deps: Deps, volume: Volume) -> NameTaken:
    with deps.db.read() as tx:
        same_path = volumes.find_path(tx, volume.site_id, volume.path)
    if same_path is not None and same_path.name != volume.name:
        return NameTaken(f"{volume.path} at site {volume.site} is already volume {same_path.name!r}.")
    return NameTaken(f"Volume {volume.name!r} already exists.", hint="Choose another name.")


def _in_use(volume: Volume, names: Sequence[str], *, forced: bool, clearing: bool) -> InUse:
    """`clearing` in the details: all of it is on its way out, so asking again in a moment is enough."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    hint = "`--force` clears what is not in use."
    if forced:
        hint = "Commits in use can be cleared when their jobs have ended, pinned ones after `mill cache unpin`."
    if clearing:
        hint = "It is being cleared. Try again in a moment."
    return InUse(
        f"Volume {volume.name!r} holds {', '.join(names[:_NAMED])}{more}.",
        hint=hint,
        depends=list(names[:_NAMED]),
        clearing=clearing,
    )


def _tell(deps: Deps, volume: Volume, what: str) -> None:
    data = {"id": volume.id, "what": "volume", "volume": volume.name, "change": what}
    deps.events.publish("caches", project_id=None, data=data)
    deps.events.wake("agents")
    deps.events.wake(TIERS_TOPIC)
