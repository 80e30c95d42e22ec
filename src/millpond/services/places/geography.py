"""The places and the ways between them as decisions see them: what is near what, and which volume serves whom."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import Connection

from millpond.db import links, sites, volume_sightings
from millpond.decide.near import Look, Nearness, NearRule, Serves, nearness, serves
from millpond.decide.rate_limits import in_force, lowest
from millpond.model.compute import Compute
from millpond.model.rate_limit import RateLimit
from millpond.model.topology import Link, Sight, ordered
from millpond.model.volume import Volume
from millpond.services.computes.presence import is_connected
from millpond.services.deps import Deps
from millpond.settings import Settings


@dataclass(frozen=True, slots=True)
class Geography:
    """One moment of it. Sites by id, links by their ends, sights by agent and volume."""

    names: Mapping[str, str]
    links: Mapping[tuple[str, str], Link]
    sights: Mapping[tuple[str, str], Sight]
    rule: NearRule
    now: datetime
    site_limits: Mapping[str, RateLimit] = field(default_factory=dict)

    def link(self, a_id: str, b_id: str) -> Link | None:
        return self.links.get(ordered(a_id, b_id))

    def within_limit(self, known: float | None, source_id: str, site_id: str) -> float | None:
        """The speed of a way in bytes per second, at most what limits allow now; None if neither is known."""
        link = self.link(source_id, site_id)
        limits = (link.limit if link else None, *(self.site_limits.get(end) for end in (source_id, site_id)))
        most = lowest(in_force(limit, self.now) for limit in limits).bytes_per_second
        return min((one for one in (known, most) if one is not None), default=None)

    def near(self, a_id: str, b_id: str) -> Nearness:
        return nearness(self.names.get(a_id, a_id), self.names.get(b_id, b_id), self.link(a_id, b_id), self.rule)

    def linked(self, site_id: str) -> frozenset[str]:
        """The sites that a link leads to from here."""
        return frozenset(b if a == site_id else a for a, b in self.links if site_id in (a, b)) & self.names.keys()

    def look(self, agent_id: str, volume_id: str) -> Look | None:
        """What the agent found there lately; None if it has not looked."""
        sight = self.sights.get((agent_id, volume_id))
        return Look(sight.problem) if sight and is_connected(sight.seen_at, self.now) else None

    def serves(self, compute: Compute, volume: Volume) -> Serves:
        near = self.near(compute.site_id, volume.site_id)
        look = self.look(compute.agent.id, volume.id) if compute.agent else None
        return serves(volume.name, compute.name, near, look, same_site=compute.site_id == volume.site_id)


def load(tx: Connection, rule: NearRule, now: datetime) -> Geography:
    return Geography(
        names=sites.by_id(tx),
        links=links.all_links(tx),
        sights=volume_sightings.all_sights(tx),
        rule=rule,
        now=now,
        site_limits=sites.limits(tx),
    )


def rule_of(settings: Settings) -> NearRule:
    return NearRule(settings.near_bits_per_second, settings.near_latency_ms)


def of_now(tx: Connection, deps: Deps) -> Geography:
    return load(tx, rule_of(deps.settings), deps.clock.now())
