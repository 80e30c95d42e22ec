"""Why a commit is cached or not, and what goes from volumes next: the same decisions, asked without doing anything."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from millpond.db import caches, evictions, volumes
from millpond.db.caches import CachedView
from millpond.db.evictions import EvictionView, RefusalView
from millpond.decide.admission import Refuse, foreign_bytes, usable_room
from millpond.decide.forecast import Step, forecast
from millpond.decide.stock import used_room
from millpond.errors import OverBudget
from millpond.model.cached_state import CachedState
from millpond.model.people import Actor
from millpond.model.quantity import format_bytes, format_seconds
from millpond.model.volume import Cause, Volume
from millpond.services.caches.access import find_volume
from millpond.services.caches.admission import differences
from millpond.services.caches.admission.admit import would_admit
from millpond.services.caches.admission.stock import limits_of, space_of, stock_of
from millpond.services.caches.explain.details import CachedDetails, details
from millpond.services.caches.explain.given import in_words
from millpond.services.caches.fills import rates as fill_rates
from millpond.services.caches.fills.sources import explain
from millpond.services.datasets import reading
from millpond.services.deps import Deps
from millpond.services.egress import budgets
from millpond.services.people import access


@dataclass(frozen=True, slots=True)
class WhyOn:
    """What is known of one commit on one volume, as sentences; the facts behind them beside it."""

    volume: str
    site: str
    cached: CachedDetails | None
    evicted: EvictionView | None
    refused: RefusalView | None
    reasons: Sequence[str]


@dataclass(frozen=True, slots=True)
class Why:
    """`reasons` hold for the commit everywhere; then each volume that has, had or refused it."""

    dataset: str  # project/dataset
    commit_id: str
    reasons: Sequence[str]
    volumes: Sequence[WhyOn]


@dataclass(frozen=True, slots=True)
class CacheStep:
    """One cached commit that goes, or stays; of projects one has a role in."""

    cached_id: str
    dataset: str
    commit_id: str
    bytes: int  # what its going gives back, once those before it are gone
    at: datetime | None  # when, if nobody uses it until then; None for what stays
    cause: Cause | None
    reason: str


@dataclass(frozen=True, slots=True)
class VolumePlan:
    """What the next evictions on a volume would be if nothing changed, in order, and what stays and why."""

    volume: str
    used_bytes: int
    usable_bytes: int
    foreign_bytes: int | None
    high_bytes: int
    low_bytes: int
    goes: Sequence[CacheStep]
    stays: Sequence[CacheStep]


def why(deps: Deps, actor: Actor, written: str, *, project: str | None = None) -> Why:
    """Where a commit is cached, since when, who holds it and when it goes; or why it went, or was refused."""
    dataset, commit = reading.find_commit(deps, actor, written, project=project)
    differences.prepare(deps, [commit.id])  # as who asks for it has it done: else it would seem to take more
    now = deps.clock.now()
    with deps.db.read() as tx:
        shown = {item.volume: item for item in details(tx, actor, caches.of_commits(tx, [commit.id]), now)}
        gone = _newest(evictions.of_commit(tx, commit.id, among=access.visible_projects(actor)))
        refused = {refusal.volume: refusal for refusal in evictions.refusals(tx, commit.id)}
        from_where = {view.volume: _ways(tx, deps, view) for view in caches.of_commits(tx, [commit.id])}
        found = [
            WhyOn(
                volume=volume.name,
                site=volume.site,
                cached=shown.get(volume.name),
                evicted=gone.get(volume.name),
                refused=refused.get(volume.name),
                reasons=[
                    *_reasons(
                        tx, actor, volume, commit.id, now,
                        shown.get(volume.name), gone.get(volume.name), refused.get(volume.name),
                    ),
                    *from_where.get(volume.name, ()),
                ],
            )
            for volume in volumes.all_of(tx)
        ]  # fmt: skip
    return Why(dataset=dataset.written, commit_id=commit.id, reasons=_everywhere(list(shown.values())), volumes=found)


def _ways(tx: Connection, deps: Deps, view: CachedView) -> Iterator[str]:
    """How fast a fill may be, and where its bytes come from."""
    yield from fill_rates.load(tx, deps.clock.now()).reasons(view.cached.id)
    yield from explain(tx, deps, view)


def plan(deps: Deps, actor: Actor, volume: str | None = None) -> list[VolumePlan]:
    """What goes next from each volume, or from one. Nothing is told of commits of projects one has no role in."""
    now = deps.clock.now()
    with deps.db.read() as tx:
        chosen = [find_volume(tx, volume)] if volume is not None else volumes.all_of(tx)
        return [_plan(tx, actor, one, now) for one in chosen]


def _plan(tx: Connection, actor: Actor, volume: Volume, now: datetime) -> VolumePlan:
    stock = stock_of(tx, volume.id, now, sees=lambda project_id: access.sees(actor, project_id))
    usable = usable_room(space_of(volume), stock).bytes
    known = {
        view.cached.id: (f"{view.project}/{view.dataset}", view.cached.commit_id)
        for view in caches.of_volume(tx, volume.id)
        if access.sees(actor, view.cached.project_id)
    }
    found = forecast(limits_of(volume, stock), stock, now)
    return VolumePlan(
        volume=volume.name,
        used_bytes=used_room(stock).bytes,
        usable_bytes=usable,
        foreign_bytes=foreign_bytes(space_of(volume), stock),
        high_bytes=usable * volume.high_percent // 100,
        low_bytes=usable * volume.low_percent // 100,
        goes=[_step(step, *known[step.id]) for step in found.goes if step.id in known],
        stays=[_step(step, *known[step.id]) for step in found.stays if step.id in known],
    )


def _step(step: Step, dataset: str, commit_id: str) -> CacheStep:
    return CacheStep(
        cached_id=step.id,
        dataset=dataset,
        commit_id=commit_id,
        bytes=step.bytes,
        at=step.at,
        cause=step.cause,
        reason=step.reason,
    )


def _newest(found: Sequence[EvictionView]) -> dict[str, EvictionView]:
    return {eviction.volume: eviction for eviction in reversed(found)}


def _everywhere(shown: Sequence[CachedDetails]) -> list[str]:
    ready = [item.volume for item in shown if item.state is CachedState.READY and item.problem is None]
    away = [item.volume for item in shown if item.state is CachedState.READY and item.problem is not None]
    unusable = [f"it is cached on {', '.join(away)}, which cannot be used now"] if away else []
    if ready:
        return [f"it is cached on {', '.join(ready)}", *unusable]
    if unusable:
        return unusable
    coming = [item.volume for item in shown if item.state is CachedState.FILLING]
    return [f"it is being cached on {', '.join(coming)}" if coming else "it is not cached anywhere"]


def _reasons(
    tx: Connection,
    actor: Actor,
    volume: Volume,
    commit_id: str,
    now: datetime,
    cached: CachedDetails | None,
    evicted: EvictionView | None,
    refused: RefusalView | None,
) -> list[str]:
    if cached is not None:
        unwell = [f"the volume cannot be used now: {volume.problem}"] if volume.problem is not None else []
        return [*unwell, *_present(cached, now)]
    reasons = []
    if evicted is not None:
        by = f" by {evicted.by}" if evicted.by else ""
        ago = format_seconds((now - evicted.at).total_seconds())
        reasons.append(f"it was evicted {ago} ago{by}: {evicted.reason}")
    if refused is not None:
        ago = format_seconds((now - refused.at).total_seconds())
        reasons.append(f"it was refused {ago} ago, requested by {refused.by}: {refused.reason}")
    if evicted is None and refused is None:
        reasons.append("nobody has requested it here")
    return [*reasons, _now(tx, actor, volume, commit_id, now)]


def _present(cached: CachedDetails, now: datetime) -> list[str]:
    """What is known of one that is there, or on its way."""
    reasons = []
    if cached.state is CachedState.READY and cached.ready_at is not None:
        since = format_seconds((now - cached.ready_at).total_seconds())
        reasons.append(f"cached for {since}, requested by {cached.requested_by}; it has {_size(cached)}")
    elif cached.state is CachedState.FILLING:
        how = "is waiting for space" if cached.waiting else f"is being filled: {format_bytes(cached.done_bytes)} done"
        left = f", {format_seconds(cached.seconds_left)} left" if cached.seconds_left is not None else ""
        reasons.append(f"requested by {cached.requested_by}; it {how}{left}")
        reasons += [f"a problem occurred, retrying: {cached.problem}"] if cached.problem else []
    else:
        reasons.append(f"{cached.state.value}: {cached.problem or cached.reason}")
    reasons += [f"its bytes came as {in_words(cached.sources)}"] if cached.sources else []
    for holder in cached.leased_by:
        until = f" until {holder.until:%Y-%m-%d %H:%M} UTC" if holder.until else " until it ends"
        why = f" ({holder.reason})" if holder.reason else ""
        reasons.append(f"held by {f'job {holder.job}' if holder.job else holder.user}{until}{why}")
    if cached.pinned:
        reasons.append(f"pinned by {cached.pinned_by}" if cached.pinned_by else "pinned")
    reasons += [f"kept as the newest commit of {branch}" for branch in cached.kept_by]
    if cached.leaving:
        reasons.append("its commit was removed: it is evicted when the last lease ends")
    if cached.expires_at is not None:
        left = format_seconds(max(0.0, (cached.expires_at - now).total_seconds()))
        idle = f"idle time {format_seconds(cached.idle_seconds)}, set by its {cached.idle_by}"
        reasons.append(f"it is evicted in {left} unless used ({idle})")
    return reasons


def _size(cached: CachedDetails) -> str:
    if cached.measured and cached.freed_bytes < cached.allocated_bytes:
        shared = format_bytes(cached.allocated_bytes - cached.freed_bytes)
        return f"{format_bytes(cached.allocated_bytes)}, of which {shared} are shared with other commits"
    return format_bytes(cached.allocated_bytes)


def _now(tx: Connection, actor: Actor, volume: Volume, commit_id: str, now: datetime) -> str:
    """What asking for it now would bring."""
    size = caches.size_of(tx, commit_id)
    if size is None:
        return "its dataset was deleted"
    if volume.problem is not None:
        return f"the volume cannot be used now: {volume.problem}"
    if volume.capacity_bytes == 0:
        return "no agent has checked the volume yet"
    answer = would_admit(tx, volume, size, now, sees=lambda project_id: access.sees(actor, project_id)).decision
    if isinstance(answer, Refuse):
        standing = f"; blocked by: {'; '.join(answer.blockers)}" if answer.blockers else ""
        return f"it would be refused now: {'; '.join(answer.reasons)}{standing}"
    try:
        budgets.check(tx, volume, size, now)
    except OverBudget as error:
        return f"it would be refused now: {error.message}"
    return f"it would be accepted now: {'; '.join(answer.reasons)}"
