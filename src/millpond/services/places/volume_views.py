"""Volumes with what is used, promised, leaving, foreign and free on them, and the limits of one's projects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from millpond.db import agents, links, shares, tiers
from millpond.decide.account import SpaceAccount
from millpond.decide.admission import foreign_bytes, usable_room
from millpond.decide.stock import Stock, freed_by, shares_of, used_room
from millpond.decide.tiers import rate_of
from millpond.model.cached_state import CachedState
from millpond.model.compute import Trust
from millpond.model.people import Actor
from millpond.model.topology import LAKE
from millpond.model.volume import Volume
from millpond.services.caches.admission.stock import space_of, stock_of
from millpond.services.computes import trust
from millpond.services.computes.presence import is_connected
from millpond.services.people import access


@dataclass(frozen=True, slots=True)
class LimitView:
    """What one project may take of a volume, and what it takes."""

    project: str
    bytes: int
    used_bytes: int


@dataclass(frozen=True, slots=True)
class VolumeView:
    """A volume, and what is on it as far as somebody may know."""

    volume: Volume
    used_bytes: int  # by cached commits, fills under way included; what they share by link counts once
    used_inodes: int
    filling_bytes: int  # of these: promised to fills that are not whole yet
    evicting_bytes: int  # of these: on their way out
    free_bytes: int
    foreign_bytes: int | None
    cached_commits: int
    connected: bool
    lake_bytes_per_second: float | None
    filler: str | None  # the compute whose agent fills and evicts there
    limits: Sequence[LimitView]
    trust: Trust
    let_in: Sequence[str]  # names of projects that trust lets in
    tier_rate: int | None = None  # bytes per second that its tier has; None: no limit


def view_of(tx: Connection, volume: Volume, now: datetime, actor: Actor) -> VolumeView:
    stock = stock_of(tx, volume.id, now)
    used, usable = used_room(stock), usable_room(space_of(volume), stock)
    filler = agents.get(tx, volume.filler_id) if volume.filler_id else None
    lake = links.bandwidth_of(tx, volume.id, LAKE)
    found = trust.of_volume(tx, volume)
    return VolumeView(
        volume=volume,
        used_bytes=used.bytes,
        used_inodes=used.inodes,
        filling_bytes=_promised(stock),
        evicting_bytes=_leaving(stock),
        free_bytes=max(0, usable.bytes - used.bytes),
        foreign_bytes=foreign_bytes(space_of(volume), stock),
        cached_commits=sum(one.state is CachedState.READY for one in stock.held),
        connected=volume.problem is None and is_connected(volume.seen_at, now),
        lake_bytes_per_second=lake.bytes_per_second if lake else None,
        filler=filler.compute if filler else None,
        limits=_limits(tx, volume, stock, actor),
        trust=found,
        let_in=trust.shown(tx, found, actor),
        tier_rate=rate_of(volume, tiers.all_of(tx)),
    )


def _limits(tx: Connection, volume: Volume, stock: Stock, actor: Actor) -> list[LimitView]:
    """The limits of projects one has a role in, with what each takes."""
    account = SpaceAccount(stock)
    return [
        LimitView(project=limit.project, bytes=limit.bytes, used_bytes=account.used_by[limit.project_id].bytes)
        for limit in shares.limits_of(tx, volume.id)
        if access.sees(actor, limit.project_id)
    ]


def _promised(stock: Stock) -> int:
    """What fills that are not whole yet may take, those that wait left out."""
    filling = (one for one in stock.held if one.state is CachedState.FILLING and not one.is_waiting)
    return sum(one.reserved_bytes for one in filling)


def _leaving(stock: Stock) -> int:
    """What comes back when everything that is on its way out is gone."""
    leaving = {one.id for one in stock.held if one.state is CachedState.EVICTING}
    return freed_by(shares_of(stock), leaving).bytes
