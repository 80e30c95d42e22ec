"""Where fills take their bytes from, and which volumes of other sites an agent looks at for that and for its jobs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from millpond.db import agents, caches, lake_replicas, links, sites, volumes
from millpond.db.caches import CachedView
from millpond.decide.bandwidth import expected_seconds
from millpond.decide.source import FillSource, FillWay, choose_source
from millpond.model.agent import Agent
from millpond.model.cached_state import CachedState
from millpond.model.lake_replica import LakeReplica
from millpond.model.topology import LAKE, Link
from millpond.model.volume import CachedCommit, Volume
from millpond.services.caches.fills import rates as fill_rates
from millpond.services.caches.fills.rates import Traffic
from millpond.services.caches.fills.speed import FillSpeed, speeds
from millpond.services.computes.presence import connected_since
from millpond.services.deps import Deps
from millpond.services.egress import budgets
from millpond.services.lake import stores
from millpond.services.places import geography
from millpond.services.places.geography import Geography


@dataclass(frozen=True, slots=True)
class Ways:
    """What one agent may read from beside the lake, at one moment. Bandwidths by volume and source."""

    agent: Agent
    visited: Sequence[Volume]
    places: Geography
    measured: Mapping[tuple[str, str], float]
    # What an hour of filling is worth.
    fill_price: float
    # Agents that send what their volumes hold to other sites, by id, and where they are reached, by site.
    peers: Mapping[str, Agent]
    addresses: Mapping[str, str]
    # Sites that fills take bytes from now, by the id of the cached commit.
    taking: Mapping[str, str]
    now: datetime
    traffic: Traffic
    # Replicas that its site reads from, and can, in place of the lake.
    copies: Sequence[LakeReplica] = ()

    def is_mounted(self, volume: Volume) -> bool:
        look = self.places.look(self.agent.id, volume.id)
        return look is not None and look.problem is None

    def sender(self, volume: Volume) -> Agent | None:
        """The agent that sends what this volume holds; None if nobody does."""
        agent = self.peers.get(volume.filler_id or "")
        return agent if volume.problem is None and volume.site_id in self.addresses else None


def load(tx: Connection, deps: Deps, agent: Agent) -> Ways:
    """The volumes of sites that a link leads to: mounted here as well, they serve jobs and fills."""
    places = geography.of_now(tx, deps)
    linked = places.linked(agent.site_id)
    visited = [volume for volume in volumes.all_of(tx) if volume.site_id in linked] if linked else []
    measured = {(one.volume_id, one.source_id): one.bytes_per_second for one in links.bandwidths(tx)}
    peers = agents.peers(tx, since=connected_since(deps.clock.now())) if visited else {}
    prices, addresses = deps.settings.fill_price, sites.addresses(tx)
    problems = stores.problems_at(tx, deps, agent.site_id)
    copies = [one for one in lake_replicas.of_site(tx, agent.site_id) if one.id not in problems]
    taking, traffic = _taking(tx, peers), fill_rates.load(tx, places.now)
    return Ways(agent, visited, places, measured, prices, peers, addresses, taking, places.now, traffic, copies)


def source_of(tx: Connection, ways: Ways, view: CachedView) -> FillSource | None:
    """Where the agent takes this fill's bytes from; None when there is nothing to choose: the lake."""
    row = view.cached
    elsewhere = caches.of_commits(tx, [row.commit_id]) if ways.visited else ()
    has = {other.cached.volume_id for other in elsewhere if other.cached.state is CachedState.READY}
    found = [_way(ways, row, volume) for volume in ways.visited if volume.id in has]
    found += _followed(tx, ways, row, elsewhere)
    copy = _copy(tx, ways, row)
    if not found and copy is None:
        return None
    lake = FillWay(
        LAKE,
        "the lake",
        bytes_per_second=speed(ways, row.volume_id, LAKE),
        price_per_gb=_price(ways.places.link(LAKE, ways.agent.site_id)),
        limit=_limit(ways, LAKE),
    )
    if copy is not None:  # what stands beside the site costs nothing to read from
        known = ways.measured.get((row.volume_id, copy.id)) or lake.bytes_per_second
        lake = FillWay(LAKE, f"replica {copy.name}", bytes_per_second=known)
    lake, open_ways = _within_budget(tx, ways, row, lake, found)
    # What is linked from a commit beside it is not fetched.
    missing = row.bytes if row.fetch_bytes is None else row.fetch_bytes
    return choose_source(lake, open_ways, missing, fill_price=ways.fill_price)


def _within_budget(
    tx: Connection, ways: Ways, row: CachedCommit, lake: FillWay, found: Sequence[FillWay]
) -> tuple[FillWay, Sequence[FillWay]]:
    """Ways with a price have an obstacle while a budget is used up."""
    if not any(way.price_per_gb for way in (lake, *found)):
        return lake, found
    why = budgets.used_up(tx, row.project_id, ways.now)
    if why is None:
        return lake, found
    lake, *found = (replace(way, obstacle=way.obstacle or why) if way.price_per_gb else way for way in (lake, *found))
    return lake, found


def _followed(tx: Connection, ways: Ways, row: CachedCommit, elsewhere: Sequence[CachedView]) -> Iterator[FillWay]:
    """Volumes whose own fill of this commit is under way, and was asked for before this one."""
    earlier = [view for view in elsewhere if _goes_before(view.cached, row)]
    known = speeds(tx, earlier, ways.now)
    for view in earlier:
        volume = next((one for one in ways.visited if one.id == view.cached.volume_id), None)
        sister = known[view.cached.id]
        if volume is not None and ways.sender(volume) is not None and not sister.is_stalled:
            yield replace(_way(ways, row, volume), **_whole_in(ways, row, view.cached, sister, volume))


def _goes_before(other: CachedCommit, row: CachedCommit) -> bool:
    is_filling = other.state is CachedState.FILLING and other.attempt > 0 and not other.found
    # One of two goes first, and it is the same one whoever asks.
    return is_filling and (other.requested_at, other.id) < (row.requested_at, row.id)


def _whole_in(ways: Ways, row: CachedCommit, other: CachedCommit, sister: FillSpeed, volume: Volume) -> dict[str, Any]:
    left = sister.seconds_left
    if left is None:
        link = ways.places.link(LAKE, volume.site_id)
        said = link.bits_per_second / 8 if link and link.bits_per_second else None
        left = expected_seconds(other.bytes - other.done_bytes, said)
    if left is None and speed(ways, row.volume_id, LAKE) is not None:
        return {"obstacle": "it is being filled itself, and nobody knows yet for how long"}
    return {"whole_in": left or 0.0}


def sister_speed(tx: Connection, ways: Ways, row: CachedCommit, volume_id: str) -> float | None:
    """How fast the fill of the same commit is on another volume, in bytes per second; None for unknown."""
    views = [view for view in caches.of_commits(tx, [row.commit_id]) if view.cached.volume_id == volume_id]
    found = speeds(tx, views, ways.now)
    own = next((one.bytes_per_second for one in found.values()), None)
    return own or ways.measured.get((volume_id, LAKE))


def _copy(tx: Connection, ways: Ways, row: CachedCommit) -> LakeReplica | None:
    """The replica that the site reads this commit from in place of the lake."""
    if not ways.copies:
        return None
    holding = {one.id for one in lake_replicas.holding(tx, row.commit_id)}
    return next((one for one in ways.copies if one.id in holding), None)


def explain(tx: Connection, deps: Deps, view: CachedView) -> tuple[str, ...]:
    """Where the bytes of a fill under way come from, and why not from elsewhere; nothing where there is no choice."""
    volume = volumes.get(tx, view.cached.volume_id)
    agent = agents.get(tx, volume.filler_id) if volume and volume.filler_id else None
    if agent is None or view.cached.state is not CachedState.FILLING:
        return ()
    source = source_of(tx, load(tx, deps, agent), view)
    return source.reasons if source else ()


def _way(ways: Ways, row: CachedCommit, volume: Volume) -> FillWay:
    known = speed(ways, row.volume_id, volume.site_id)
    if known is not None and not ways.is_mounted(volume):
        # Those who take from there now share the line.
        known /= 1 + sum(site == volume.site_id for taker, site in ways.taking.items() if taker != row.id)
    return FillWay(
        volume.id,
        f"volume {volume.name} at {volume.site}",
        bytes_per_second=known,
        price_per_gb=_price(ways.places.link(ways.agent.site_id, volume.site_id)),
        limit=_limit(ways, volume.site_id),
        obstacle=_obstacle(ways, volume),
    )


def _obstacle(ways: Ways, volume: Volume) -> str | None:
    if volume.problem is not None or ways.is_mounted(volume) or ways.sender(volume) is not None:
        return volume.problem
    look = ways.places.look(ways.agent.id, volume.id)
    if look is not None:
        return look.problem
    why = "has no address" if volume.site_id not in ways.addresses else "serves nothing to other sites"
    return f"{ways.agent.compute} does not have it mounted, and site {volume.site} {why}"


def _taking(tx: Connection, peers: Mapping[str, Agent]) -> Mapping[str, str]:
    if not peers:
        return {}
    rates = links.rates(tx)
    return {view.cached.id: rates[view.cached.id].source_id for view in caches.filling(tx) if view.cached.id in rates}


def speed(ways: Ways, target_id: str, source_id: str) -> float | None:
    """Measured by fills of this volume; before there was one, what its link is said to carry. Never above a limit."""
    known = ways.measured.get((target_id, source_id))
    link = ways.places.link(source_id, ways.agent.site_id)
    known = known or (link.bits_per_second / 8 if link and link.bits_per_second else None)
    limit = ways.traffic.over(source_id, ways.agent.site_id).bytes_per_second
    return min((one for one in (known, limit) if one is not None), default=None)


def _limit(ways: Ways, source_id: str) -> str:
    limit = ways.traffic.over(source_id, ways.agent.site_id)
    return "" if limit.bits_per_second is None else str(limit)


def _price(link: Link | None) -> float:
    return (link.price_per_gb if link else None) or 0.0
