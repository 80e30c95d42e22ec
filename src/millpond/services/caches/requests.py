"""Caches as people use them: asking for a commit on a volume, looking, clearing, pinning, verifying."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from sqlalchemy import Connection

from millpond.db import caches, leases, notices, volumes
from millpond.db import evictions as eviction_rows
from millpond.db.caches import CommitSize
from millpond.db.evictions import EvictionView, RefusalView
from millpond.db.leases import Sees
from millpond.decide.eviction import Evict
from millpond.decide.notifications.notices import of_refusal
from millpond.errors import DoesNotFit, InUse, OverQuota, VolumeProblem
from millpond.model.cached_state import CachedState
from millpond.model.dataset import Commit, Dataset, DatasetKind
from millpond.model.people import Actor, Role
from millpond.model.quantity import format_seconds
from millpond.model.volume import Cause, Volume
from millpond.services.caches.access import (
    announce,
    audit_cache,
    check_unused,
    find_cached,
    find_volume,
    lock_cached,
    named_volume,
    require_member,
)
from millpond.services.caches.admission import differences, volume_choice
from millpond.services.caches.admission.admit import Begun, begin_fill, check_usable, mark_evictions
from millpond.services.caches.admission.volume_choice import Chosen
from millpond.services.caches.explain.details import CachedDetails, details
from millpond.services.caches.fills import rates as fill_rates
from millpond.services.caches.fills.sources import explain
from millpond.services.caches.holds import PAGE
from millpond.services.caches.uses import count_hit, count_miss
from millpond.services.computes.presence import is_connected
from millpond.services.datasets import datasets, reading
from millpond.services.deps import Deps
from millpond.services.listing import Listing, page_of, text_of
from millpond.services.people import access
from millpond.services.places.geography import rule_of
from millpond.services.time_cursors import moment_of


@dataclass(frozen=True, slots=True)
class CacheFilter:
    """Names of a volume, a project, and a dataset in written form; no kinds mean all."""

    volume: str | None = None
    project: str | None = None
    dataset: str | None = None
    kinds: Sequence[DatasetKind] = ()


@dataclass(frozen=True, slots=True)
class Wanted:
    """Where a commit shall be cached: a volume, or near a compute or site, else on the best one."""

    volume: str | None = None
    near: str | None = None
    idle_seconds: int | None = None  # of this cached commit alone


@dataclass(frozen=True, slots=True)
class Added:
    cached: CachedDetails
    # False when it was there or on its way already: once and only once.
    started: bool
    reasons: Sequence[str]


def request(
    deps: Deps,
    actor: Actor,
    dataset: str,
    *,
    project: str | None = None,
    volume: str | None = None,
    near: str | None = None,
    idle_seconds: int | None = None,
) -> Added:
    """Have `dataset@ref` cached, once and only once, whoever asks. Without a volume the best one is chosen.

    What is refused is refused at once, and kept for `why`.
    """
    found, commit = reading.find_commit(deps, actor, dataset, project=project)
    require_member(actor, found.project_id, found.project)
    differences.prepare(deps, [commit.id])
    try:
        return _request(deps, actor, Wanted(volume, near, idle_seconds), commit)
    except OverQuota:
        deps.measures.cache_refused("quota")
        raise
    except (DoesNotFit, VolumeProblem) as error:
        deps.measures.cache_refused("room" if isinstance(error, DoesNotFit) else "volume")
        _note_refusal(deps, actor, found, commit.id, error)
        raise


def _request(deps: Deps, actor: Actor, wanted: Wanted, commit: Commit) -> Added:
    now = deps.clock.now()
    sees = partial(access.sees, actor)
    with deps.db.write() as tx:
        size = caches.size_of(tx, commit.id)
        if size is None:
            raise access.not_found("commit", commit.id)
        volume, why = _chosen(tx, deps, wanted, size, sees, now)
        if volume.problem is not None:
            check_usable(volume)  # what was cached there cannot be read now
        begun = begin_fill(
            tx,
            volume,
            size,
            requested_by=actor.name,
            now=now,
            sees=sees,
            idle_seconds=wanted.idle_seconds,
        )
        if begun.started:
            count_miss(tx, begun.cached.cached, now)
        else:
            count_hit(tx, begun.cached.cached, now, by=actor.name)
        if begun.started:
            audit_cache(tx, actor, "cache.add", begun.cached, now)
        shown = details(tx, actor, [begun.cached], now)[0]
        source = explain(tx, deps, begun.cached)[:1]
        limits = tuple(fill_rates.load(tx, now).reasons(begun.cached.cached.id))
    if begun.started:
        announce(deps, [begun.cached, *begun.evicting], "changed")
    if source:
        why = (*why, *source)
    elif wanted.volume is not None and shown.seconds_left:
        why = (f"it takes about {format_seconds(shown.seconds_left)}, judging by earlier fills",)
    return Added(shown, begun.started, [*why, *limits, *_reasons(deps, volume, begun)])


def list_visible(
    deps: Deps, actor: Actor, chosen: CacheFilter, *, limit: int, cursor: str | None
) -> Listing[CachedDetails]:
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
            tx,
            among=among,
            limit=limit + 1,
            after=text_of(cursor),
            volume_id=volume_id,
            dataset_id=dataset_id,
            kinds=chosen.kinds,
        )
        shown = details(tx, actor, found, now)
    return page_of(shown, limit, key=lambda item: item.id)


def get(deps: Deps, actor: Actor, cached_id: str) -> CachedDetails:
    now = deps.clock.now()
    with deps.db.read() as tx:
        return details(tx, actor, [find_cached(tx, actor, cached_id, Role.VIEWER)], now)[0]


def clear(deps: Deps, actor: Actor, cached_id: str) -> None:
    """Have it removed. InUse while it is leased (naming by whom), pinned or kept; clearing it twice is once."""
    now = deps.clock.now()
    with deps.db.write() as tx:
        volume, view = lock_cached(tx, actor, cached_id)
        if view.cached.state is CachedState.EVICTING:
            return
        if actor.user_id is not None:  # who has looked at its files and then clears it has looked long enough
            leases.release_user(tx, cached_id, actor.user_id, reader=PAGE)
        check_unused(tx, actor, view, now)
        evict = Evict(view.cached.id, f"cleared by {actor.name}", Cause.CLEARED, actor.name)
        marked = mark_evictions(tx, volume, [evict])
        audit_cache(tx, actor, "cache.clear", view, now)
    announce(deps, marked, "evicting")


def pin(deps: Deps, actor: Actor, cached_id: str, *, pinned: bool) -> CachedDetails:
    """Pinned commits are never evicted. Pinning again changes nothing, not even who did it."""
    now = deps.clock.now()
    with deps.db.write() as tx:
        _, view = lock_cached(tx, actor, cached_id)
        if pinned and (view.leaving is not None or view.cached.state is CachedState.EVICTING):
            raise InUse(f"{view.written} is already being evicted.", hint="Request it again in a moment.")
        if pinned != view.cached.pinned:
            by = {"pinned_by": actor.name, "pinned_at": now} if pinned else {"pinned_by": None, "pinned_at": None}
            caches.change(tx, cached_id, pinned=pinned, used_at=now, **by)
            audit_cache(tx, actor, "cache.pin" if pinned else "cache.unpin", view, now)
        view = find_cached(tx, actor, cached_id, Role.MEMBER)
        shown = details(tx, actor, [view], now)[0]
    announce(deps, [view], "changed")
    return shown


def change(deps: Deps, actor: Actor, cached_id: str, *, idle_seconds: int | None) -> CachedDetails:
    """Give one cached commit an idle time of its own; None: that of its dataset or volume again."""
    now = deps.clock.now()
    with deps.db.write() as tx:
        _, view = lock_cached(tx, actor, cached_id)
        caches.change(tx, cached_id, idle_seconds=idle_seconds)
        audit_cache(
            tx, actor, "cache.change", view, now,
            before={"idle_seconds": view.cached.idle_seconds}, after={"idle_seconds": idle_seconds},
        )  # fmt: skip
        view = find_cached(tx, actor, cached_id, Role.MEMBER)
        shown = details(tx, actor, [view], now)[0]
    announce(deps, [view], "changed")
    return shown


def refusals(deps: Deps, actor: Actor, *, volume: str | None, limit: int) -> Sequence[RefusalView]:
    """What was refused last and is not there since, of the projects one may see, newest first."""
    with deps.db.read() as tx:
        volume_id = find_volume(tx, volume).id if volume else None
        among = access.visible_projects(actor)
        return eviction_rows.newest_refusals(tx, among=among, limit=limit, volume_id=volume_id)


def evictions(
    deps: Deps, actor: Actor, *, limit: int, cursor: str | None, volume: str | None = None
) -> Listing[EvictionView]:
    """What was evicted and why, newest first."""
    with deps.db.read() as tx:
        among = access.visible_projects(actor)
        volume_id = find_volume(tx, volume).id if volume else None
        found = eviction_rows.newest(tx, among=among, limit=limit + 1, before=moment_of(cursor), volume_id=volume_id)
    return page_of(found, limit, key=lambda item: [item.at.isoformat(), item.id])


def _chosen(
    tx: Connection, deps: Deps, wanted: Wanted, size: CommitSize, sees: Sees, now: datetime
) -> tuple[Volume, tuple[str, ...]]:
    """The volume asked for, or the best one and why; locked."""
    named = named_volume(tx, wanted.volume, wanted.near)
    if named is not None:
        chosen = Chosen(named, ())
    else:
        chosen = volume_choice.choose(tx, size, near=wanted.near, rule=rule_of(deps.settings), now=now, sees=sees)
    locked = volumes.lock(tx, chosen.volume.id)
    if locked is None:
        raise access.not_found("volume", chosen.volume.name, volumes.names(tx))
    return locked, chosen.reasons


def _note_refusal(
    deps: Deps, actor: Actor, dataset: Dataset, commit_id: str, error: DoesNotFit | VolumeProblem
) -> None:  # fmt: skip
    """Of a volume that was asked for, or tried. Names of others' commits stay out of what is kept."""
    now, reason = deps.clock.now(), error.message.partition(" Blocked by: ")[0]
    with deps.db.write() as tx:
        volume = volumes.find(tx, str(error.details.get("volume", "")))
        if volume is None:
            return
        is_new = eviction_rows.note_refusal(
            tx, volume_id=volume.id, commit_id=commit_id, project_id=dataset.project_id, by=actor.name, reason=reason,
            now=now,
        )  # fmt: skip
        if is_new:
            notice = of_refusal(
                project=dataset.project, project_id=dataset.project_id, dataset=dataset.name, commit_id=commit_id,
                volume=volume.name, reason=reason, owner=actor.name, now=now,
            )  # fmt: skip
            notices.insert(tx, notice)


def _reasons(deps: Deps, volume: Volume, begun: Begun) -> list[str]:
    reasons = list(begun.reasons)
    if begun.started and not is_connected(volume.seen_at, deps.clock.now()):
        reasons.append(f"the agent of site {volume.site} is not connected; the fill starts when it is back")
    return reasons
