"""How fast fills may be now: limits that people set, divided among agents, and what others let go first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from millpond.db import caches, leases, links, sites, volumes
from millpond.db.caches import CachedView
from millpond.decide.rate_limits import RateInForce, in_force, lowest
from millpond.decide.rate_shares import LimitKey, Transfer, goes_first, low_rate, share_of
from millpond.model.agent import Agent
from millpond.model.fill_source import SourceKind
from millpond.model.quantity import format_rate
from millpond.model.topology import LAKE, FillRate, ordered


@dataclass(frozen=True, slots=True)
class AgentLimit:
    """What one agent may take of a limit: of its own site (`site`), or of a link, by the id of its other end."""

    id: str
    bytes_per_second: int


@dataclass(frozen=True, slots=True)
class Traffic:
    """Limits in force at one moment, and the fills under way with where their bytes come from, by cached commit."""

    limits: Mapping[LimitKey, RateInForce]
    transfers: Mapping[str, Transfer]
    fills: Mapping[str, CachedView]
    # Bytes per second: measured, by volume and source; said of a link, by its ends.
    speeds: Mapping[tuple[str, str], float]

    def over(self, source_id: str, site_id: str) -> RateInForce:
        """The limit that counts for what comes from the lake, or from a site, to a site."""
        keys = Transfer("", site_id, source_id).keys
        return lowest(self.limits[key] for key in keys if key in self.limits)

    def is_waited_for(self, cached_id: str) -> bool:
        mine = self.transfers.get(cached_id)
        return mine is None or mine.is_waited_for

    def before(self, cached_id: str) -> Sequence[CachedView]:
        """The fills that this one lets go first."""
        mine = self.transfers.get(cached_id)
        return [self.fills[one] for one in goes_first(mine, self.transfers)] if mine else ()

    def low_bytes_per_second(self, cached_id: str) -> int | None:
        """How fast a fill may be that lets others go first; None: as fast as it can."""
        if not self.before(cached_id):
            return None
        mine, view = self.transfers[cached_id], self.fills[cached_id]
        declared = self.speeds.get(ordered(mine.source_id, mine.site_id))
        known = self.speeds.get((view.cached.volume_id, mine.source_id), declared)
        limit = self.over(mine.source_id, mine.site_id).bytes_per_second
        return int(low_rate(min((one for one in (known, limit) if one is not None), default=None)))

    def most(self, cached_id: str) -> float | None:
        """What a fill brings at most, in bytes per second; None without limit."""
        mine = self.transfers.get(cached_id)
        if mine is None:
            return None
        found = [self.over(mine.source_id, mine.site_id).bytes_per_second, self.low_bytes_per_second(cached_id)]
        return min((one for one in found if one is not None), default=None)

    def reasons(self, cached_id: str) -> Iterator[str]:
        """Why a fill under way is slower than it could be."""
        mine = self.transfers.get(cached_id)
        if mine is None:
            return
        limit = self.over(mine.source_id, mine.site_id)
        if limit.bits_per_second is not None:
            yield str(limit)
        low = self.low_bytes_per_second(cached_id)
        if low is not None:
            yield f"slowed to {format_rate(low)}: nobody waits for it, and a fill that is waited for goes first"


def limits_now(tx: Connection, now: datetime) -> Mapping[LimitKey, RateInForce]:
    """What limits links and sites now."""
    found: dict[LimitKey, RateInForce] = {ends: in_force(one.limit, now) for ends, one in links.all_links(tx).items()}
    found |= {(site_id,): in_force(limit, now) for site_id, limit in sites.limits(tx).items()}
    return {key: one for key, one in found.items() if one.bits_per_second is not None}


def load(tx: Connection, now: datetime) -> Traffic:
    """All limits and fills of now."""
    speeds = {(one.volume_id, one.source_id): one.bytes_per_second for one in links.bandwidths(tx)}
    for ends, link in links.all_links(tx).items():
        if link.bits_per_second:
            speeds[ends] = link.bits_per_second / 8
    fills = {view.cached.id: view for view in caches.filling(tx)}
    held = leases.holders(tx, list(fills), now) if fills else {}
    fillers = {one.id: one.filler_id for one in volumes.all_of(tx)} if fills else {}
    rates = links.rates(tx) if fills else {}
    transfers = {
        cached_id: Transfer(
            receiver_id=fillers.get(view.cached.volume_id) or "",
            site_id=view.site_id,
            source_id=rates[cached_id].source_id if cached_id in rates else LAKE,
            sender_id=_sender(rates.get(cached_id), fillers),
            is_waited_for=not view.cached.prefetch or bool(held.get(cached_id)),
        )
        for cached_id, view in fills.items()
        # What cannot go on holds nobody up.
        if view.cached.problem is None
    }
    return Traffic(limits_now(tx, now), transfers, fills, speeds)


def _sender(rate: FillRate | None, fillers: Mapping[str, str | None]) -> str | None:
    """The agent that sends to a fill from the volume of another site."""
    sending = (key.id for key in (rate.given if rate else ()) if key.kind is SourceKind.PEER)
    return next((fillers.get(volume_id) for volume_id in sending), None)


def limits_of(traffic: Traffic, agent: Agent) -> list[AgentLimit]:
    """What this agent may take of every limit that concerns its site."""
    found: list[AgentLimit] = []
    for key, limit in sorted(traffic.limits.items()):
        if agent.site_id not in key or limit.bytes_per_second is None:
            continue
        other = next((end for end in key if end != agent.site_id), "site")
        rate = share_of(agent.id, key, limit.bytes_per_second, traffic.transfers.values())
        found.append(AgentLimit(other, int(rate)))
    return found
