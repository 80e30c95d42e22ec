"""What it takes to have commits on the volumes near each compute: bytes, seconds and money."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from millpond.db import agents, caches, links, sites, volumes
from millpond.decide.bandwidth import expected_seconds
from millpond.decide.score import ASSUMED_BYTES_PER_SECOND, NO_FILL, Fill, cheapest, fill_of
from millpond.model.cached_state import CachedState
from millpond.model.topology import LAKE, FillRate
from millpond.model.volume import CachedCommit, Volume
from millpond.services.caches.fills.speed import fill_speed
from millpond.services.computes.presence import connected_since
from millpond.services.places.geography import Geography

Fills = Mapping[str, Fill]


@dataclass(frozen=True, slots=True)
class _Known:
    """One moment: cached commits by commit id, volumes by id, bandwidths by volume and source, rates of fills.

    `senders` are the agents that send what their volumes hold to other sites, `addressed` the sites that are reached.
    """

    sizes: Mapping[str, int]
    cached: Mapping[str, Sequence[CachedCommit]]
    volumes: Mapping[str, Volume]
    measured: Mapping[tuple[str, str], float]
    rates: Mapping[str, FillRate]
    places: Geography
    fill_price: float
    senders: Collection[str]
    addressed: Collection[str]


def fills_near(
    tx: Connection,
    serving: Mapping[str, Sequence[Volume]],
    sizes: Mapping[str, int],
    places: Geography,
    *,
    fill_price: float,
) -> Mapping[str, Fills]:
    """By compute id and commit: what is still to be fetched; nothing for commits that are there.

    `serving` are the volumes that serve each compute, `sizes` the commits that are asked about. An hour of filling is
    worth `fill_price`.
    """
    known = _load(tx, sizes, places, fill_price)
    of_volumes: dict[tuple[str, ...], Fills] = {}
    found: dict[str, Fills] = {}
    for compute_id, near in serving.items():
        key = tuple(volume.id for volume in near)
        if key not in of_volumes:
            of_volumes[key] = _fills(known, near)
        found[compute_id] = of_volumes[key]
    return found


def _load(tx: Connection, sizes: Mapping[str, int], places: Geography, fill_price: float) -> _Known:
    cached: dict[str, list[CachedCommit]] = defaultdict(list)
    for view in caches.of_commits(tx, sizes) if sizes else ():
        cached[view.cached.commit_id].append(view.cached)
    return _Known(
        sizes=sizes,
        cached=cached,
        volumes={volume.id: volume for volume in volumes.all_of(tx)} if sizes else {},
        measured={(one.volume_id, one.source_id): one.bytes_per_second for one in links.bandwidths(tx)},
        rates=links.rates(tx) if sizes else {},
        places=places,
        fill_price=fill_price,
        senders=agents.peers(tx, since=connected_since(places.now)) if sizes else (),
        addressed=sites.addresses(tx) if sizes else (),
    )


def _fills(known: _Known, near: Sequence[Volume]) -> Fills:
    if not near:
        return {}
    here = {volume.id for volume in near}
    found: dict[str, Fill] = {}
    for commit, size in known.sizes.items():
        states = [row for row in known.cached.get(commit, ()) if row.volume_id in here]
        fill = _fill(known, commit, size, states, near)
        if fill != NO_FILL:
            found[commit] = fill
    return found


def _fill(
    known: _Known, commit: str, size: int, states: Collection[CachedCommit], near: Sequence[Volume]
) -> Fill:  # fmt: skip
    if any(row.state is CachedState.READY for row in states):
        return NO_FILL
    under_way = [_left(known, row) for row in states if row.state is CachedState.FILLING]
    if under_way:
        return min(under_way, key=lambda fill: fill.seconds)
    return min((_fetch(known, commit, size, volume) for volume in near), key=lambda fill: (fill.price, fill.seconds))


def _left(known: _Known, row: CachedCommit) -> Fill:
    """Of a fill under way. What it costs is spent."""
    total = row.bytes if row.fetch_bytes is None else row.fetch_bytes
    missing = max(0, total - row.done_bytes)
    rate = known.rates.get(row.id)
    speed = _speed(known, known.volumes[row.volume_id], rate.source_id if rate else LAKE)
    left = fill_speed(row, rate, speed, known.places.now).seconds_left
    return Fill(missing, left or expected_seconds(missing, speed or ASSUMED_BYTES_PER_SECOND) or 0.0)


def _fetch(known: _Known, commit: str, size: int, target: Volume) -> Fill:
    """From the lake, or from a volume that its filler reads or is sent, whichever costs less."""
    ways = [_way(known, target, LAKE, size)]
    for row in known.cached.get(commit, ()):
        source = known.volumes.get(row.volume_id)
        if row.state is CachedState.READY and source is not None and _is_reached(known, target, source):
            ways.append(_way(known, target, source.site_id, size))
    return cheapest(ways, known.fill_price)


def _is_reached(known: _Known, target: Volume, source: Volume) -> bool:
    """True if the filler of `target` has `source` mounted, or the agent there sends over a link of known speed."""
    if source.problem is not None or source.site_id == target.site_id:
        return False
    look = known.places.look(target.filler_id or "", source.id)
    if look is not None and look.problem is None:
        return True
    is_sent = source.filler_id in known.senders and source.site_id in known.addressed
    is_linked = known.places.link(source.site_id, target.site_id) is not None
    return is_sent and is_linked and _speed(known, target, source.site_id) is not None


def _way(known: _Known, target: Volume, source_id: str, size: int) -> Fill:
    link = known.places.link(source_id, target.site_id)
    return fill_of(size, _speed(known, target, source_id), (link.price_per_gb if link else None) or 0.0)


def _speed(known: _Known, target: Volume, source_id: str) -> float | None:
    """Measured by fills of this volume; before there was one, what its link is said to carry. Never above a limit."""
    link = known.places.link(source_id, target.site_id)
    declared = link.bits_per_second / 8 if link and link.bits_per_second else None
    speed = known.measured.get((target.id, source_id)) or declared
    return known.places.within_limit(speed, source_id, target.site_id)
