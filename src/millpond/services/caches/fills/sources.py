"""Where fills take their bytes from, and which volumes of other sites an agent looks at for that and for its jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from millpond.db import agents, caches, links, volumes
from millpond.db.caches import CachedView
from millpond.decide.source import FillSource, FillWay, choose_source
from millpond.model.agent import Agent
from millpond.model.cached_state import CachedState
from millpond.model.topology import LAKE, Link
from millpond.model.volume import Volume
from millpond.services.deps import Deps
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


def load(tx: Connection, deps: Deps, agent: Agent) -> Ways:
    """The volumes of sites that a link leads to: mounted here as well, they serve jobs and fills."""
    places = geography.of_now(tx, deps)
    linked = places.linked(agent.site_id)
    visited = [volume for volume in volumes.all_of(tx) if volume.site_id in linked] if linked else []
    measured = {(one.volume_id, one.source_id): one.bytes_per_second for one in links.bandwidths(tx)}
    return Ways(agent, visited, places, measured, deps.settings.fill_price)


def source_of(tx: Connection, ways: Ways, view: CachedView) -> FillSource | None:
    """Where the agent takes this fill's bytes from; None when there is nothing to choose: the lake."""
    row = view.cached
    has = {
        other.cached.volume_id
        for other in (caches.of_commits(tx, [row.commit_id]) if ways.visited else ())
        if other.cached.state is CachedState.READY
    }
    found = [_way(ways, row.volume_id, volume) for volume in ways.visited if volume.id in has]
    if not found:
        return None
    lake = FillWay(
        LAKE,
        "the lake",
        bytes_per_second=_speed(ways, row.volume_id, LAKE),
        price_per_gb=_price(ways.places.link(LAKE, ways.agent.site_id)),
    )
    # What is linked from a commit beside it is not fetched.
    missing = row.bytes if row.fetch_bytes is None else row.fetch_bytes
    return choose_source(lake, found, missing, fill_price=ways.fill_price)


def explain(tx: Connection, deps: Deps, view: CachedView) -> tuple[str, ...]:
    """Where the bytes of a fill under way come from, and why not from elsewhere; nothing where there is no choice."""
    volume = volumes.get(tx, view.cached.volume_id)
    agent = agents.get(tx, volume.filler_id) if volume and volume.filler_id else None
    if agent is None or view.cached.state is not CachedState.FILLING:
        return ()
    source = source_of(tx, load(tx, deps, agent), view)
    return source.reasons if source else ()


def _way(ways: Ways, target_id: str, volume: Volume) -> FillWay:
    look = ways.places.look(ways.agent.id, volume.id)
    obstacle = volume.problem
    if look is None:
        obstacle = f"{ways.agent.compute} does not have it mounted"
    elif look.problem is not None:
        obstacle = look.problem
    return FillWay(
        volume.id,
        f"volume {volume.name} at {volume.site}",
        bytes_per_second=_speed(ways, target_id, volume.site_id),
        price_per_gb=_price(ways.places.link(ways.agent.site_id, volume.site_id)),
        obstacle=obstacle,
    )


def _speed(ways: Ways, target_id: str, source_id: str) -> float | None:
    """Measured by fills of this volume; before there was one, what its link is said to carry."""
    known = ways.measured.get((target_id, source_id))
    link = ways.places.link(source_id, ways.agent.site_id)
    return known or (link.bits_per_second / 8 if link and link.bits_per_second else None)


def _price(link: Link | None) -> float:
    return (link.price_per_gb if link else None) or 0.0
