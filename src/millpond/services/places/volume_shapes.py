"""Volumes as they are shown: what is used, promised, leaving, foreign and free, and the limits of one's projects."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection

from millpond.db import agents, links, shares
from millpond.decide.account import Account
from millpond.decide.admission import foreign_bytes, usable_room
from millpond.decide.stock import Stock, freed_by, shares_of, used_room
from millpond.model.cached_state import CachedState
from millpond.model.people import Actor
from millpond.model.topology import LAKE
from millpond.model.volume import Volume
from millpond.services.caches.admission.stock import space_of, stock_of
from millpond.services.computes import trust
from millpond.services.computes.presence import is_connected
from millpond.services.people import access
from millpond.wire import cache as wire
from millpond.wire.trust import Trust


def volume_shape(tx: Connection, volume: Volume, now: datetime, actor: Actor) -> wire.Volume:
    stock = stock_of(tx, volume.id, now)
    used, usable = used_room(stock), usable_room(space_of(volume), stock)
    filler = agents.get(tx, volume.filler_id) if volume.filler_id else None
    lake = links.bandwidth_of(tx, volume.id, LAKE)
    return wire.Volume(
        id=volume.id,
        name=volume.name,
        site=volume.site,
        path=volume.path,
        capacity_bytes=volume.capacity_bytes,
        reserve_bytes=volume.reserve_bytes,
        used_bytes=used.bytes,
        filling_bytes=_promised(stock),
        evicting_bytes=_leaving(stock),
        free_bytes=max(0, usable.bytes - used.bytes),
        disk_total_bytes=volume.disk_total_bytes,
        disk_free_bytes=volume.disk_free_bytes,
        foreign_bytes=foreign_bytes(space_of(volume), stock),
        leftover_bytes=volume.leftover_bytes,
        inodes_total=volume.inodes_total,
        inodes_free=volume.inodes_free,
        used_inodes=used.inodes,
        idle_seconds=volume.idle_seconds,
        high_percent=volume.high_percent,
        low_percent=volume.low_percent,
        cached_commits=sum(one.state is CachedState.READY for one in stock.held),
        connected=volume.problem is None and is_connected(volume.seen_at, now),
        problem=volume.problem,
        created_at=volume.created_at,
        seen_at=volume.seen_at,
        tier=volume.tier,
        tier_throughput=volume.tier_throughput,
        tier_price=volume.tier_price,
        lake_bytes_per_second=lake.bytes_per_second if lake else None,
        filler=filler.compute if filler else None,
        features=dict(volume.features) if volume.features is not None else None,
        limits=limits_shown(tx, volume, stock, actor),
        trust=_trust(tx, volume, actor),
    )


def _trust(tx: Connection, volume: Volume, actor: Actor) -> Trust:
    found = trust.of_volume(tx, volume)
    return Trust(shared=found.shared, all=found.all, projects=list(trust.shown(tx, found, actor)))


def limits_shown(tx: Connection, volume: Volume, stock: Stock, actor: Actor) -> list[wire.VolumeLimit]:
    """The limits of projects one has a role in, with what each takes."""
    account = Account(stock)
    return [
        wire.VolumeLimit(project=limit.project, bytes=limit.bytes, used_bytes=account.used_by[limit.project_id].bytes)
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
