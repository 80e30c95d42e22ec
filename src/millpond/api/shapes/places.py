"""Sites, links, volumes and their use as the wire shows them."""

from __future__ import annotations

from dataclasses import fields
from datetime import datetime

from millpond.db.sites import SiteCounts
from millpond.decide.near import Serves
from millpond.model.rate_limit import LimitWindow, RateLimit, parse_time_of_day
from millpond.model.topology import CacheUses
from millpond.model.volume import Volume
from millpond.services.places import sites, volume_usage
from millpond.services.places import topology as places
from millpond.services.places.limit_views import limit_view
from millpond.services.places.tiers import TierView
from millpond.services.places.volume_views import VolumeView
from millpond.wire import cache, rate_limits, topology
from millpond.wire.trust import Trust

# Fields of a volume that the wire has under the same name.
_VOLUME = {field.name for field in fields(Volume)} & cache.Volume.model_fields.keys() - {"tier_enforced"}
_SUMMARY = topology.CachesSummary.model_fields.keys() - {"fills"}


def changed_site(changed: sites.ChangedSite, now: datetime) -> cache.Site:
    return site(changed.counts, now).model_copy(update={"warning": changed.warning})


def site(counts: SiteCounts, now: datetime) -> cache.Site:
    found = counts.site
    limit = limit_view(found.limit, now)
    return cache.Site(
        id=found.id, name=found.name, created_at=found.created_at, computes=counts.computes, volumes=counts.volumes,
        address=found.address, lake_endpoint=found.lake_endpoint,
        limit=rate_limits.RateLimit.model_validate(limit) if limit else None,
        placement_seconds=found.placement_seconds, serving_host=found.serving.host if found.serving else None,
        serving_tls_cert=found.serving.tls_cert if found.serving else None,
    )  # fmt: skip


def rate_limit(put: rate_limits.RateLimitPut) -> RateLimit:
    """What somebody asked for. BadRequest for times that are none."""
    return RateLimit(tuple(_window(one) for one in put.windows))


def site_detail(found: places.SiteDetail) -> topology.SiteDetail:
    return topology.SiteDetail(
        site=site(found.site, found.now),
        links=[topology.Link.model_validate(link) for link in found.links],
        volumes=list(found.volumes),
        computes=list(found.computes),
        stores=[topology.SiteStore.model_validate(one) for one in found.stores],
    )


def volume(view: VolumeView) -> cache.Volume:
    return cache.Volume(
        **{name: getattr(view.volume, name) for name in _VOLUME},
        used_bytes=view.used_bytes,
        used_inodes=view.used_inodes,
        filling_bytes=view.filling_bytes,
        evicting_bytes=view.evicting_bytes,
        free_bytes=view.free_bytes,
        foreign_bytes=view.foreign_bytes,
        cached_commits=view.cached_commits,
        connected=view.connected,
        lake_bytes_per_second=view.lake_bytes_per_second,
        filler=view.filler,
        tier_rate=view.tier_rate,
        tier_enforced=cache.TierEnforced.model_validate(kept) if (kept := view.volume.tier_enforced) else None,
        limits=[cache.VolumeLimit.model_validate(limit) for limit in view.limits],
        trust=Trust(shared=view.trust.shared, all=view.trust.all, projects=list(view.let_in)),
    )


def tier(view: TierView) -> cache.Tier:
    one = view.tier
    return cache.Tier(
        name=one.name, throughput=one.throughput, price=one.price, bytes_per_second=one.bytes_per_second,
        rate=view.rate, volumes=list(view.volumes),
    )  # fmt: skip


def whole(found: places.Topology) -> topology.Topology:
    return topology.Topology(
        near_bits_per_second=found.rule.bits_per_second,
        near_latency_ms=found.rule.latency_ms,
        sites=[site(one, found.now) for one in found.sites],
        links=[topology.Link.model_validate(link) for link in found.links],
        volumes=[_volume(one) for one in found.volumes],
        computes=[_compute(one) for one in found.computes],
    )


def usage(found: volume_usage.VolumeUsage) -> topology.VolumeUsage:
    return topology.VolumeUsage(
        volume=found.volume,
        step_seconds=found.step_seconds,
        samples=[topology.VolumeSample.model_validate(sample) for sample in found.samples],
        hours=[_hour(at, uses) for at, uses in found.hours],
        total=topology.CacheUses.model_validate(found.total),
        bandwidth=[topology.VolumeBandwidth.model_validate(one) for one in found.bandwidth],
    )


def summary(found: volume_usage.CachesSummary) -> topology.CachesSummary:
    return topology.CachesSummary(
        **{name: getattr(found, name) for name in _SUMMARY - {"total", "today"}},
        total=topology.CacheUses.model_validate(found.total),
        today=topology.CacheUses.model_validate(found.today),
        fills=[_fill(one) for one in found.fills],
    )


def _window(put: rate_limits.LimitWindowPut) -> LimitWindow:
    start, end = (None if text is None else parse_time_of_day(text) for text in (put.start, put.end))
    return LimitWindow(put.bits_per_second, start, end, put.zone)


def _volume(found: places.TopologyVolume) -> topology.TopologyVolume:
    return topology.TopologyVolume(
        volume=volume(found.volume),
        bandwidth=[topology.VolumeBandwidth.model_validate(one) for one in found.bandwidth],
        fills=found.fills,
        fill_bytes_per_second=found.fill_bytes_per_second,
    )


def _compute(found: places.TopologyCompute) -> topology.TopologyCompute:
    view = found.compute
    return topology.TopologyCompute(
        name=view.compute.name,
        site=view.compute.site,
        driver=view.compute.driver,
        connected=view.connected,
        cpus=sum(use.node.cpus for use in view.nodes),
        memory_bytes=sum(use.node.memory_bytes for use in view.nodes),
        gpus=sum(use.node.gpus for use in view.nodes),
        gpu_used_hundredths=sum(use.gpu_used_hundredths for use in view.nodes),
        jobs=view.running,
        volumes=[_near(name, served) for name, served in found.volumes],
    )


def _near(name: str, served: Serves) -> topology.NearVolume:
    return topology.NearVolume(
        volume=name, near=served.near, seen=served.seen, serves=served.serves, reason=served.reason
    )


def _hour(at: datetime, uses: CacheUses) -> topology.HourOfUse:
    return topology.HourOfUse(at=at, **topology.CacheUses.model_validate(uses).model_dump())


def _fill(found: volume_usage.RunningFill) -> topology.RunningFill:
    row = found.cached.cached
    return topology.RunningFill(
        id=row.id,
        project=found.cached.project,
        dataset=found.cached.dataset,
        commit_id=row.commit_id,
        volume=found.cached.volume,
        source=found.source,
        bytes=row.bytes,
        done_bytes=row.done_bytes,
        files=row.files,
        done_files=row.done_files,
        bytes_per_second=found.bytes_per_second,
        seconds_left=found.seconds_left,
        waiting=row.attempt == 0,
        problem=row.problem,
    )
