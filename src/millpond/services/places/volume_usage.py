"""How full volumes were over time and how their caches were used: samples taken, thinned out, and read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection

from millpond.db import caches, links, sites, volume_usage
from millpond.db.caches import CachedView
from millpond.errors import BadRequest
from millpond.model.people import SYSTEM, Actor
from millpond.model.topology import Bandwidth, CacheUses, VolumeSample
from millpond.services.caches.access import find_volume
from millpond.services.caches.fills.speed import FillSpeed, speeds
from millpond.services.deps import Deps
from millpond.services.people import access
from millpond.services.places import volumes
from millpond.wire import cache as cache_wire
from millpond.wire import topology as wire

MINUTE, HOUR = 60, 3600
# How long samples are kept, by their step.
KEPT = {MINUTE: timedelta(days=1), HOUR: timedelta(days=90)}
_DAY = timedelta(days=1)
_ALL = 1000


@dataclass(frozen=True, slots=True)
class VolumeNumbers:
    """Everything that is counted of volumes; by their ids, sites by theirs."""

    volumes: Sequence[cache_wire.Volume]
    sites: Mapping[str, str]
    uses: Mapping[str, CacheUses]
    fills: Mapping[str, Sequence[FillSpeed]]
    pinned: Mapping[str, int]
    leased: Mapping[str, int]
    bandwidths: Sequence[Bandwidth]
    evictions: Mapping[tuple[str, str], int]


def sample_all(deps: Deps, now: datetime) -> None:
    """Note how full every volume is; called every minute. Older samples are thinned out."""
    shown = all_volumes(deps)
    with deps.db.write() as tx:
        for volume in shown:
            for step in (MINUTE, HOUR):
                volume_usage.put_sample(tx, volume.id, step, sample_of(volume, _floor(now, step)))
        for step, kept in KEPT.items():
            volume_usage.forget_samples(tx, step, before=now - kept)


def usage(deps: Deps, actor: Actor, name: str, since: datetime | None, until: datetime | None) -> wire.VolumeUsage:
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
        bandwidth = bandwidth_shapes(tx, volume.id)
    return wire.VolumeUsage(
        volume=volume.name,
        step_seconds=step,
        samples=[wire.VolumeSample.model_validate(sample) for sample in samples],
        hours=[wire.HourOfUse(at=at, **shape_of(uses).model_dump()) for at, uses in hours],
        total=shape_of(total_of([uses for _, uses in hours])),
        bandwidth=bandwidth,
    )


def summary(deps: Deps, actor: Actor) -> wire.CachesSummary:
    """Volumes are everybody's; what is cached, saved and on its way is told of the projects one may see."""
    now = deps.clock.now()
    among = access.visible_projects(actor)
    shown = all_volumes(deps)
    samples = [sample_of(volume, now) for volume in shown]
    with deps.db.read() as tx:
        commits, cached_bytes = volume_usage.cached_totals(tx, among=among)
        total = volume_usage.uses(tx, among=among)
        today = volume_usage.uses(tx, among=among, since=_floor(now - _DAY, HOUR))
        fills = running_fills(tx, actor)
    return wire.CachesSummary(
        volumes=len(shown),
        volumes_connected=sum(volume.connected for volume in shown),
        capacity_bytes=sum(sample.capacity_bytes for sample in samples),
        used_bytes=sum(sample.used_bytes for sample in samples),
        reserved_bytes=sum(sample.reserved_bytes for sample in samples),
        free_bytes=sum(sample.free_bytes for sample in samples),
        foreign_bytes=sum(sample.foreign_bytes for sample in samples),
        cached_commits=commits,
        cached_bytes=cached_bytes,
        total=shape_of(total),
        today=shape_of(today),
        fills=fills,
    )


def numbers(deps: Deps) -> VolumeNumbers:
    """Over all projects: for a place where no names of theirs appear."""
    shown = all_volumes(deps)
    with deps.db.read() as tx:
        return VolumeNumbers(
            volumes=shown,
            sites=sites.by_id(tx),
            uses=volume_usage.uses_by_volume(tx),
            fills=fill_speeds(tx),
            pinned=volume_usage.pinned_by_volume(tx),
            leased=volume_usage.leased_by_volume(tx, deps.clock.now()),
            bandwidths=links.bandwidths(tx),
            evictions=volume_usage.evictions_by_cause(tx),
        )


def fill_speeds(tx: Connection) -> Mapping[str, Sequence[FillSpeed]]:
    """Of each fill under way, by volume."""
    filling = caches.of_ids(tx, volume_usage.filling_ids(tx))
    known = speeds(tx, filling)
    found: dict[str, list[FillSpeed]] = defaultdict(list)
    for view in filling:
        found[view.cached.volume_id].append(known[view.cached.id])
    return found


def throughput(fills: Iterable[FillSpeed]) -> float:
    """Bytes per second of them together; those of which it is not known yet count nothing."""
    return sum(one.bytes_per_second or 0.0 for one in fills)


def running_fills(tx: Connection, actor: Actor) -> list[wire.RunningFill]:
    """What is on its way, of the projects one may see, with its throughput and the time that is left."""
    names = sites.by_id(tx)
    filling = caches.of_ids(tx, volume_usage.filling_ids(tx))
    known = speeds(tx, filling)
    return [
        _running(view, known[view.cached.id], names) for view in filling if access.sees(actor, view.cached.project_id)
    ]


def all_volumes(deps: Deps, actor: Actor = SYSTEM) -> list[cache_wire.Volume]:
    """Every volume as this one sees it."""
    found: list[cache_wire.Volume] = []
    cursor: str | None = None
    while True:
        page = volumes.list_all(deps, actor, limit=_ALL, cursor=cursor)
        found.extend(page.items)
        if (cursor := page.next) is None:
            return found


def sample_of(volume: cache_wire.Volume, at: datetime) -> VolumeSample:
    return VolumeSample(
        at=at,
        capacity_bytes=volume.capacity_bytes,
        used_bytes=volume.used_bytes - volume.filling_bytes,
        reserved_bytes=volume.filling_bytes,
        free_bytes=volume.free_bytes,
        foreign_bytes=volume.foreign_bytes or 0,
    )


def bandwidth_shapes(tx: Connection, volume_id: str) -> list[wire.VolumeBandwidth]:
    names = sites.by_id(tx)
    return [
        wire.VolumeBandwidth(
            source=names.get(one.source_id, one.source_id),
            bytes_per_second=one.bytes_per_second,
            fills=one.fills,
            measured_at=one.measured_at,
        )
        for one in links.bandwidths(tx, volume_id)
    ]


def shape_of(value: CacheUses) -> wire.CacheUses:
    return wire.CacheUses.model_validate(value)


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


def _running(view: CachedView, speed: FillSpeed, names: Mapping[str, str]) -> wire.RunningFill:
    row = view.cached
    return wire.RunningFill(
        id=row.id,
        project=view.project,
        dataset=view.dataset,
        commit_id=row.commit_id,
        volume=view.volume,
        source=names.get(speed.source_id, speed.source_id),
        bytes=row.bytes,
        done_bytes=row.done_bytes,
        files=row.files,
        done_files=row.done_files,
        bytes_per_second=speed.bytes_per_second,
        seconds_left=speed.seconds_left,
        waiting=row.attempt == 0,
        problem=row.problem,
    )


def _floor(at: datetime, step: int) -> datetime:
    return datetime.fromtimestamp(at.timestamp() // step * step, UTC)
