"""How full volumes were over time and how their caches were used: samples taken, thinned out, and read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection

from millpond.db import caches, lake_replicas, links, sites, volume_usage
from millpond.db.caches import CachedView
from millpond.errors import BadRequest
from millpond.model.people import SYSTEM, Actor
from millpond.model.topology import Bandwidth, CacheUses, VolumeSample
from millpond.services.caches.access import find_volume
from millpond.services.caches.fills.speed import FillSpeed, speeds
from millpond.services.deps import Deps
from millpond.services.people import access
from millpond.services.places import volumes
from millpond.services.places.volume_views import VolumeView

MINUTE, HOUR = 60, 3600
# How long samples are kept, by their step.
KEPT = {MINUTE: timedelta(days=1), HOUR: timedelta(days=90)}
_DAY = timedelta(days=1)
_ALL = 1000


@dataclass(frozen=True, slots=True)
class VolumeNumbers:
    """Everything that is counted of volumes; by their ids, sites by theirs."""

    volumes: Sequence[VolumeView]
    sites: Mapping[str, str]
    uses: Mapping[str, CacheUses]
    fills: Mapping[str, Sequence[FillSpeed]]
    pinned: Mapping[str, int]
    leased: Mapping[str, int]
    bandwidths: Sequence[Bandwidth]
    evictions: Mapping[tuple[str, str], int]


@dataclass(frozen=True, slots=True)
class VolumeUsage:
    """How full a volume was, oldest first, every `step_seconds`; and how it was used, hour by hour."""

    volume: str
    step_seconds: int
    samples: Sequence[VolumeSample]
    hours: Sequence[tuple[datetime, CacheUses]]
    total: CacheUses
    bandwidth: Sequence[VolumeBandwidth]


@dataclass(frozen=True, slots=True)
class VolumeBandwidth:
    """What fills of a volume brought: from `lake`, or from volumes at the site named."""

    source: str
    bytes_per_second: float
    fills: int
    measured_at: datetime


@dataclass(frozen=True, slots=True)
class RunningFill:
    """A fill under way, and how fast it is. `source` is `lake`, or the name of a site."""

    cached: CachedView
    source: str
    bytes_per_second: float | None
    seconds_left: float | None


@dataclass(frozen=True, slots=True)
class CachesSummary:
    """Volumes are everybody's; what is cached, saved and on its way only of projects one may see."""

    volumes: int
    volumes_connected: int
    capacity_bytes: int
    used_bytes: int
    reserved_bytes: int
    free_bytes: int
    foreign_bytes: int
    cached_commits: int
    cached_bytes: int
    total: CacheUses  # since the beginning
    today: CacheUses  # of the last 24 hours
    fills: Sequence[RunningFill]


def sample_all(deps: Deps, now: datetime) -> None:
    """Note how full every volume is; called every minute. Older samples are thinned out."""
    shown = all_volumes(deps)
    with deps.db.write() as tx:
        for volume in shown:
            for step in (MINUTE, HOUR):
                volume_usage.put_sample(tx, volume.volume.id, step, sample_of(volume, _floor(now, step)))
        for step, kept in KEPT.items():
            volume_usage.forget_samples(tx, step, before=now - kept)


def usage(deps: Deps, actor: Actor, name: str, since: datetime | None, until: datetime | None) -> VolumeUsage:
    """By the minute within the last day, otherwise by the hour. How full it was is for everybody; how it was used is
    told of the projects one may see."""
    now = deps.clock.now()
    until = until or now
    since = since or until - _DAY
    if since > until:
        raise BadRequest("The period ends before it starts.", hint="Give `from` before `to`.")
    step = MINUTE if since >= now - KEPT[MINUTE] - timedelta(seconds=HOUR) else HOUR
    among = access.visible_projects(actor)
    with deps.db.read() as tx:
        volume = find_volume(tx, name)
        samples = volume_usage.samples(tx, volume.id, step, since=since, until=until)
        hours = volume_usage.hours(tx, volume.id, among=among, since=_floor(since, HOUR), until=until)
        bandwidth = bandwidths_of(tx, volume.id)
    return VolumeUsage(
        volume=volume.name,
        step_seconds=step,
        samples=samples,
        hours=hours,
        total=total_of([uses for _, uses in hours]),
        bandwidth=bandwidth,
    )


def summary(deps: Deps, actor: Actor) -> CachesSummary:
    """Volumes are everybody's; what is cached, saved and on its way is told of the projects one may see."""
    now = deps.clock.now()
    among = access.visible_projects(actor)
    shown = all_volumes(deps)
    samples = [sample_of(volume, now) for volume in shown]
    with deps.db.read() as tx:
        commits, cached_bytes = volume_usage.cached_totals(tx, among=among)
        total = volume_usage.uses(tx, among=among)
        today = volume_usage.uses(tx, among=among, since=_floor(now - _DAY, HOUR))
        fills = running_fills(tx, actor, deps.clock.now())
    return CachesSummary(
        volumes=len(shown),
        volumes_connected=sum(volume.connected for volume in shown),
        capacity_bytes=sum(sample.capacity_bytes for sample in samples),
        used_bytes=sum(sample.used_bytes for sample in samples),
        reserved_bytes=sum(sample.reserved_bytes for sample in samples),
        free_bytes=sum(sample.free_bytes for sample in samples),
        foreign_bytes=sum(sample.foreign_bytes for sample in samples),
        cached_commits=commits,
        cached_bytes=cached_bytes,
        total=total,
        today=today,
        fills=fills,
    )


def numbers(deps: Deps) -> VolumeNumbers:
    """Over all projects: for a place where no names of theirs appear."""
    shown = all_volumes(deps)
    with deps.db.read() as tx:
        return VolumeNumbers(
            volumes=shown,
            sites={**sites.by_id(tx), **replica_names(tx)},
            uses=volume_usage.uses_by_volume(tx),
            fills=fill_speeds(tx, deps.clock.now()),
            pinned=volume_usage.pinned_by_volume(tx),
            leased=volume_usage.leased_by_volume(tx, deps.clock.now()),
            bandwidths=links.bandwidths(tx),
            evictions=volume_usage.evictions_by_cause(tx),
        )


def fill_speeds(tx: Connection, now: datetime) -> Mapping[str, Sequence[FillSpeed]]:
    """Of each fill under way, by volume."""
    filling = caches.of_ids(tx, volume_usage.filling_ids(tx))
    known = speeds(tx, filling, now)
    found: dict[str, list[FillSpeed]] = defaultdict(list)
    for view in filling:
        found[view.cached.volume_id].append(known[view.cached.id])
    return found


def throughput(fills: Iterable[FillSpeed]) -> float:
    """Bytes per second of them together; those of which it is not known yet count nothing."""
    return sum(one.bytes_per_second or 0.0 for one in fills)


def running_fills(tx: Connection, actor: Actor, now: datetime) -> list[RunningFill]:
    """What is on its way, of the projects one may see, with its throughput and the time that is left."""
    names = {**sites.by_id(tx), **replica_names(tx)}
    filling = caches.of_ids(tx, volume_usage.filling_ids(tx))
    known = speeds(tx, filling, now)
    return [
        RunningFill(view, names.get(speed.source_id, speed.source_id), speed.bytes_per_second, speed.seconds_left)
        for view in filling
        if access.sees(actor, view.cached.project_id)
        for speed in [known[view.cached.id]]
    ]


def all_volumes(deps: Deps, actor: Actor = SYSTEM) -> list[VolumeView]:
    """Every volume as this one sees it."""
    found: list[VolumeView] = []
    cursor: str | None = None
    while True:
        page = volumes.list_all(deps, actor, limit=_ALL, cursor=cursor)
        found.extend(page.items)
        if (cursor := page.next) is None:
            return found


def sample_of(volume: VolumeView, at: datetime) -> VolumeSample:
    return VolumeSample(
        at=at,
        capacity_bytes=volume.volume.capacity_bytes,
        used_bytes=volume.used_bytes - volume.filling_bytes,
        reserved_bytes=volume.filling_bytes,
        free_bytes=volume.free_bytes,
        foreign_bytes=volume.foreign_bytes or 0,
    )


def replica_names(tx: Connection) -> dict[str, str]:
    """How replicas are called among the sources of fills."""
    return {id: f"replica {name}" for id, name in lake_replicas.by_id(tx).items()}


def bandwidths_of(tx: Connection, volume_id: str) -> list[VolumeBandwidth]:
    names = {**sites.by_id(tx), **replica_names(tx)}
    return [
        VolumeBandwidth(
            source=names.get(one.source_id, one.source_id),
            bytes_per_second=one.bytes_per_second,
            fills=one.fills,
            measured_at=one.measured_at,
        )
        for one in links.bandwidths(tx, volume_id)
    ]


def total_of(values: Sequence[CacheUses]) -> CacheUses:
    return CacheUses(
        hits=sum(one.hits for one in values),
        misses=sum(one.misses for one in values),
        saved_bytes=sum(one.saved_bytes for one in values),
        saved_seconds=sum(one.saved_seconds for one in values),
        fills=sum(one.fills for one in values),
        filled_bytes=sum(one.filled_bytes for one in values),
        fill_seconds=sum(one.fill_seconds for one in values),
    )


def _floor(at: datetime, step: int) -> datetime:
    return datetime.fromtimestamp(at.timestamp() // step * step, UTC)
