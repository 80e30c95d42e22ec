"""Everything the drawing of the topology shows: sites, links, volumes, computes, and which volume serves whom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from millpond.db import computes as compute_rows
from millpond.db import sites, volumes
from millpond.db.sites import SiteCounts
from millpond.decide.near import NearRule, Serves
from millpond.model.people import Actor
from millpond.services.caches.fills.speed import FillSpeed
from millpond.services.computes import computes
from millpond.services.computes.computes import ComputeView
from millpond.services.deps import Deps
from millpond.services.lake import stores
from millpond.services.lake.stores import SiteStore
from millpond.services.places import geography
from millpond.services.places import links as link_service
from millpond.services.places import sites as site_service
from millpond.services.places.links import LinkView
from millpond.services.places.volume_usage import VolumeBandwidth, all_volumes, bandwidths_of, fill_speeds, throughput
from millpond.services.places.volume_views import VolumeView

_ALL = 1000


@dataclass(frozen=True, slots=True)
class TopologyVolume:
    volume: VolumeView
    bandwidth: Sequence[VolumeBandwidth]
    # Under way now, and their throughput together.
    fills: int
    fill_bytes_per_second: float | None


@dataclass(frozen=True, slots=True)
class TopologyCompute:
    """A compute, and what each volume is to it, by the volume's name."""

    compute: ComputeView
    volumes: Sequence[tuple[str, Serves]]


@dataclass(frozen=True, slots=True)
class Topology:
    """Everything the drawing shows. `rule`: what makes a link near, as this server is set."""

    rule: NearRule
    sites: Sequence[SiteCounts]
    links: Sequence[LinkView]
    volumes: Sequence[TopologyVolume]
    computes: Sequence[TopologyCompute]
    now: datetime


@dataclass(frozen=True, slots=True)
class SiteDetail:
    site: SiteCounts
    links: Sequence[LinkView]
    volumes: Sequence[str]
    computes: Sequence[str]
    # Where it reads the lake, if that was said, and what its agents found there.
    stores: Sequence[SiteStore]
    now: datetime


def topology(deps: Deps, actor: Actor) -> Topology:
    now = deps.clock.now()
    shown = all_volumes(deps, actor)
    with deps.db.read() as tx:
        places = geography.of_now(tx, deps)
        found = volumes.all_of(tx)
        fills = fill_speeds(tx, now)
        return Topology(
            rule=places.rule,
            sites=sites.page(tx, limit=_ALL),
            links=link_service.views(tx, places),
            volumes=[_volume(tx, view, fills.get(view.volume.id, ())) for view in shown],
            computes=[
                TopologyCompute(view, [(volume.name, places.serves(view.compute, volume)) for volume in found])
                for view in computes.views(tx, compute_rows.all_computes(tx), now)
            ],
            now=now,
        )


def site(deps: Deps, name: str) -> SiteDetail:
    with deps.db.read() as tx:
        found = site_service.get(tx, name)
        stands = sites.standing_at(tx, found.site.id)
        places = geography.of_now(tx, deps)
        ways = link_service.views(tx, places)
        reads = stores.seen_at(tx, deps, found.site)
    return SiteDetail(found, [link for link in ways if name in (link.a, link.b)], *stands, reads, places.now)


def _volume(tx: Connection, view: VolumeView, fills: Sequence[FillSpeed]) -> TopologyVolume:
    return TopologyVolume(
        volume=view,
        bandwidth=bandwidths_of(tx, view.volume.id),
        fills=len(fills),
        fill_bytes_per_second=throughput(fills) or None,
    )
