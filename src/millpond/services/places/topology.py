"""Everything the drawing of the topology shows: sites, links, volumes, computes, and which volume serves whom."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection

from millpond.db import computes as compute_rows
from millpond.db import sites, volumes
from millpond.model.people import Actor
from millpond.model.volume import Volume
from millpond.services.caches.fills.speed import FillSpeed
from millpond.services.computes import computes
from millpond.services.computes.computes import ComputeView
from millpond.services.deps import Deps
from millpond.services.places import geography
from millpond.services.places import links as link_service
from millpond.services.places import sites as site_service
from millpond.services.places.geography import Geography
from millpond.services.places.volume_usage import all_volumes, bandwidth_shapes, fill_speeds, throughput
from millpond.wire import cache as cache_wire
from millpond.wire import topology as wire

_ALL = 1000


def topology(deps: Deps, actor: Actor) -> wire.Topology:
    now = deps.clock.now()
    shown = all_volumes(deps, actor)
    with deps.db.read() as tx:
        places = geography.of_now(tx, deps)
        found = volumes.all_of(tx)
        fills = fill_speeds(tx)
        return wire.Topology(
            near_bits_per_second=places.rule.bits_per_second,
            near_latency_ms=places.rule.latency_ms,
            sites=[_site(item) for item in sites.page(tx, limit=_ALL)],
            links=link_service.shapes(tx, places),
            volumes=[_volume(tx, volume, fills.get(volume.id, ())) for volume in shown],
            computes=[_compute(view, found, places) for view in computes.views(tx, compute_rows.all_computes(tx), now)],
        )


def site(deps: Deps, name: str) -> wire.SiteDetail:
    with deps.db.read() as tx:
        found = site_service.get(tx, name)
        stands = sites.standing_at(tx, found.site.id)
        ways = link_service.shapes(tx, geography.of_now(tx, deps))
    return wire.SiteDetail(
        site=_site(found),
        links=[link for link in ways if name in (link.a, link.b)],
        volumes=list(stands[0]),
        computes=list(stands[1]),
    )


def _site(item: sites.SiteCounts) -> cache_wire.Site:
    found = item.site
    return cache_wire.Site(
        id=found.id, name=found.name, created_at=found.created_at, computes=item.computes, volumes=item.volumes
    )


def _volume(tx: Connection, volume: cache_wire.Volume, fills: Sequence[FillSpeed]) -> wire.TopologyVolume:
    return wire.TopologyVolume(
        volume=volume,
        bandwidth=bandwidth_shapes(tx, volume.id),
        fills=len(fills),
        fill_bytes_per_second=throughput(fills) or None,
    )


def _compute(view: ComputeView, found: Sequence[Volume], places: Geography) -> wire.TopologyCompute:
    return wire.TopologyCompute(
        name=view.compute.name,
        site=view.compute.site,
        driver=view.compute.driver,
        connected=view.connected,
        cpus=sum(use.node.cpus for use in view.nodes),
        memory_bytes=sum(use.node.memory_bytes for use in view.nodes),
        gpus=sum(use.node.gpus for use in view.nodes),
        gpu_used_hundredths=sum(use.gpu_used_hundredths for use in view.nodes),
        jobs=view.running,
        volumes=[_near(view, volume, places) for volume in found],
    )


def _near(view: ComputeView, volume: Volume, places: Geography) -> wire.NearVolume:
    served = places.serves(view.compute, volume)
    return wire.NearVolume(
        volume=volume.name, near=served.near, seen=served.seen, serves=served.serves, reason=served.reason
    )
