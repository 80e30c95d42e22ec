"""What an agent is to do on the volumes of its site: what shall be there, and what shall not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import Connection

from millpond.db import agents, branch_pointers, caches, links, projects, server, tiers, volumes
from millpond.db.caches import CachedView
from millpond.decide.admission import reserved_inodes
from millpond.decide.source import FillSource
from millpond.decide.tiers import rate_of
from millpond.model.agent import Agent
from millpond.model.cached_state import CachedState
from millpond.model.tier import Tier
from millpond.model.topology import LAKE
from millpond.model.volume import CachedCommit, Volume
from millpond.services.caches.admission.stock import space_of
from millpond.services.caches.fills import peers as fill_peers
from millpond.services.caches.fills import rates as fill_rates
from millpond.services.caches.fills import sources as fill_sources
from millpond.services.caches.fills.peers import PeerWay
from millpond.services.caches.fills.shares import to_measure
from millpond.services.caches.fills.sources import Ways
from millpond.services.computes.presence import connected_since
from millpond.services.deps import Deps
from millpond.wire.desired import (
    Base,
    DesiredFill,
    DesiredGrant,
    DesiredLimit,
    DesiredPeer,
    DesiredPointer,
    DesiredVolume,
)

# Published commits that a fill may take files from: comparing with each takes a little time.
_BASES_MOST = 3


def desired_for(
    deps: Deps, agent: Agent, within: Connection | None = None
) -> tuple[list[DesiredVolume], list[DesiredFill]]:
    """All volumes of the agent's site, and what is to be done on those that it fills and that are well.

    Behind them those of linked sites, only to be looked at: mounted here as well, they serve jobs and fills.
    A fill that was admitted against an eviction is not told before those bytes are gone.
    """
    fills: list[DesiredFill] = []
    wanted: list[DesiredVolume] = []
    with deps.db.read(within) as tx:
        own = volumes.all_of(tx, agent.site_id)
        lying = {one.id: caches.of_volume(tx, one.id) if one.filler_id == agent.id else () for one in own}
        # Most that hundreds of agents ask, again and again, is asked where nothing is filled and no link leads.
        is_filling = any(_is_filling(view.cached) for views in lying.values() for view in views)
        ways = fill_sources.load(tx, deps, agent) if is_filling or links.leads_away(tx, agent.site_id) else None
        if not own and ways is None:
            return [], []
        row, known = server.get(tx), tiers.all_of(tx)
        lake = (row.lake_id if row else None) or ""
        for volume in own:
            cached = lying[volume.id]
            told = _volume(tx, volume, agent, cached, lake, deps.clock.now())
            wanted.append(told.model_copy(update={"bytes_per_second": _rate(volume, known)}))
            if volume.problem is None:
                fills.extend(_fills(tx, deps, volume, cached, ways))
    wanted += [
        DesiredVolume(id=one.id, path=one.path, new=False, lake=lake, visited=True, bytes_per_second=_rate(one, known))
        for one in (ways.visited if ways else ())
    ]
    return wanted, fills


def _rate(volume: Volume, known: Mapping[str, Tier]) -> int | None:
    """What agents keep their jobs and fills to; where a plug-in sets the tier, what it sets it at does."""
    return None if volume.tier_by else rate_of(volume, known)


def reads(tx: Connection, agent_id: str | None, commit_id: str) -> bool:
    """Whether this agent, now, fills or checks the commit on a volume, or fills one there that links from it."""
    for view in caches.of_commits(tx, [commit_id]):
        volume = volumes.get(tx, view.cached.volume_id)
        if volume is None or agent_id is None or volume.filler_id != agent_id:
            continue
        if _is_filling(view.cached) or view.cached.is_verifying or _is_base(tx, view):
            return True
    return False


def _is_base(tx: Connection, base: CachedView) -> bool:
    """Whether something that is filled on its volume now may take files from it."""
    if base.cached.state is not CachedState.READY:
        return False
    by_id = {view.cached.id: view for view in caches.of_volume(tx, base.cached.volume_id)}
    filling = [view for view in by_id.values() if _is_filling(view.cached)]
    return any(one.commit_id == base.cached.commit_id for view in filling for one in _bases(view, by_id))


def _is_filling(row: CachedCommit) -> bool:
    return row.state is CachedState.FILLING and row.attempt > 0


def _volume(
    tx: Connection, volume: Volume, agent: Agent, cached: Sequence[CachedView], lake: str, now: datetime
) -> DesiredVolume:
    tended = volume.filler_id == agent.id
    is_well = tended and volume.problem is None
    is_new = _may_adopt(tx, volume, agent, now)
    return DesiredVolume(
        id=volume.id,
        path=volume.path,
        new=is_new,
        lake=lake,
        others=[one.id for one in volumes.all_of(tx) if one.id != volume.id] if is_new else None,
        tended=tended,
        accounts=dict(projects.accounts(tx, {view.cached.project_id for view in cached})),
        measure=to_measure(tx, volume.id, cached) if is_well else [],
        pointers=_pointers(tx, volume) if is_well else [],
    )


def _may_adopt(tx: Connection, volume: Volume, agent: Agent, now: datetime) -> bool:
    """Whether an empty directory may become the volume: for one agent, and while no agent has seen it well.

    At others the same path may be a mount point without its mount.
    """
    if volume.disk_free_bytes is not None:
        return False
    first = volume.filler_id or agents.first_at(tx, agent.site_id, since=connected_since(now))
    return first in (None, agent.id)


def _fills(
    tx: Connection, deps: Deps, volume: Volume, cached: Sequence[CachedView], ways: Ways | None
) -> list[DesiredFill]:
    """`ways` are None where nothing is being filled."""
    by_id = {view.cached.id: view for view in cached}
    found: list[DesiredFill] = []
    for view in cached:
        row = view.cached
        if row.state is CachedState.EVICTING:
            found.append(_desired(view, "absent", row.attempt))
        elif _is_filling(row) and row.found:
            found.append(_desired(view, "found", row.attempt))
        elif _is_filling(row) and ways is not None:
            source = fill_sources.source_of(tx, ways, view)
            wanted = _desired(view, "present", row.attempt, _bases(view, by_id))
            told: dict[str, Any] = _room(volume, row)
            if source is not None and not source.is_lake:
                told |= {"source": source.id, "peer": _peer(fill_peers.peer_of(deps, ways, row, source))}
                told |= _rates(tx, ways, row, source)
                told["source_site"] = next(one.site_id for one in ways.visited if one.id == source.id)
            told["low_bytes_per_second"] = ways.traffic.low_bytes_per_second(row.id)
            told["prefetch"] = not ways.traffic.is_waited_for(row.id)
            found.append(wanted.model_copy(update=told))
        elif row.is_verifying:
            found.append(_desired(view, "verified", row.verify))
    return found


def grants_for(deps: Deps, agent: Agent, within: Connection | None = None) -> list[DesiredGrant]:
    """What agents of other sites may fetch from this one now."""
    return [DesiredGrant(**asdict(one)) for one in fill_peers.grants_for(deps, agent, within)]


def limits_for(deps: Deps, agent: Agent, within: Connection | None = None) -> list[DesiredLimit]:
    """What the agent may take of limits now."""
    now = deps.clock.now()
    with deps.db.read(within) as tx:
        if not any(agent.site_id in ends for ends in fill_rates.limits_now(tx, now)):
            return []
        traffic = fill_rates.load(tx, now)
    return [DesiredLimit(**asdict(one)) for one in fill_rates.limits_of(traffic, agent)]


def _peer(way: PeerWay | None) -> DesiredPeer | None:
    return DesiredPeer(**asdict(way)) if way is not None else None


def _rates(tx: Connection, ways: Ways, row: CachedCommit, source: FillSource) -> dict[str, Any]:
    """What the agent may expect from the source and from the lake."""
    site_id = next(volume.site_id for volume in ways.visited if volume.id == source.id)
    known = [fill_sources.speed(ways, row.volume_id, site_id)]
    if source.is_followed:
        known.append(fill_sources.sister_speed(tx, ways, row, source.id))
    return {
        "source_bytes_per_second": None if None in known else min(one for one in known if one is not None),
        "lake_bytes_per_second": fill_sources.speed(ways, row.volume_id, LAKE),
    }


def _room(volume: Volume, row: CachedCommit) -> dict[str, Any]:
    return {
        "needed_bytes": row.reserved_bytes,
        "needed_inodes": row.reserved_inodes,
        "reserve_bytes": volume.reserve_bytes,
        "reserve_inodes": reserved_inodes(space_of(volume)),
    }


def _bases(wanted: CachedView, cached: Mapping[str, CachedView]) -> list[Base]:
    """The one it was admitted with first, then the newest of the same dataset."""
    chosen = cached.get(wanted.cached.base_id or "")
    near = [
        view
        for view in cached.values()
        if view.cached.dataset_id == wanted.cached.dataset_id and view.cached.state is CachedState.READY
    ]
    near.sort(key=lambda view: (view.cached.ready_at or view.cached.requested_at, view.cached.id), reverse=True)
    if chosen is not None and chosen.cached.state is CachedState.READY:
        near = [chosen, *(view for view in near if view is not chosen)]
    return [
        Base(
            dataset=view.dataset,
            dataset_id=view.cached.dataset_id,
            commit_id=view.cached.commit_id,
            tree=view.tree,
        )
        for view in near[:_BASES_MOST]
    ]


def _pointers(tx: Connection, volume: Volume) -> list[DesiredPointer]:
    return [
        DesiredPointer(
            project=found.project,
            dataset=found.dataset,
            branch=found.branch,
            project_id=found.project_id,
            dataset_id=found.dataset_id,
            commit_id=found.commit_id,
        )
        for found in branch_pointers.on_volume(tx, volume.id)
    ]


def _desired(
    view: CachedView, want: Literal["present", "absent", "verified", "found"], attempt: int, bases: Sequence[Base] = ()
) -> DesiredFill:
    row = view.cached
    return DesiredFill(
        cached_id=row.id,
        volume_id=row.volume_id,
        project=view.project,
        project_id=row.project_id,
        dataset=view.dataset,
        dataset_id=row.dataset_id,
        commit_id=row.commit_id,
        tree=view.tree,
        files=row.files,
        bytes=row.bytes,
        attempt=attempt,
        want=want,
        bases=list(bases),
    )
