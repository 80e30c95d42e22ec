"""What an agent is to do on the volumes of its site: what shall be there, and what shall not."""

from __future__ import annotations

from sqlalchemy import Connection

from millpond.db import caches, server, sites, volumes
from millpond.db.caches import CachedView
from millpond.model.job import Agent
from millpond.model.volume import CachedState, Volume
from millpond.services import fill_sources
from millpond.services.deps import Deps
from millpond.services.fill_sources import Ways
from millpond.wire.agent import DesiredFill, DesiredVolume


def desired_for(deps: Deps, agent: Agent) -> tuple[list[DesiredVolume], list[DesiredFill]]:
    """All volumes of the agent's site, and what is to be filled and evicted on those that are well.

    Behind them those of linked sites, only to be looked at: mounted here as well, they serve jobs and fills.

    One agent of a site, the oldest, carries out fills: the others see volumes only. A fill that was admitted
    against an eviction is not told before those bytes are gone.
    """
    with deps.db.read() as tx:
        found = volumes.all_of(tx, agent.site_id)
        fills: list[DesiredFill] = []
        tended = sites.filling_agent(tx, agent.site_id) == agent.id
        ways = fill_sources.load(tx, deps, agent)
        if tended:
            for volume in found:
                fills.extend(_desired_on(tx, volume, ways))
        row = server.get(tx)
    lake = (row.lake_id if row else None) or ""
    # A volume whose disk was never measured has not been seen well by any agent.
    wanted = [
        DesiredVolume(id=volume.id, path=volume.path, new=volume.disk_free_bytes is None, lake=lake, tended=tended)
        for volume in found
    ]
    wanted += [DesiredVolume(id=one.id, path=one.path, new=False, lake=lake, visited=True) for one in ways.visited]
    return wanted, fills


def _desired_on(tx: Connection, volume: Volume, ways: Ways) -> list[DesiredFill]:
    if volume.problem is not None:
        return []
    found: list[DesiredFill] = []
    for view in caches.of_volume(tx, volume.id):
        if view.cached.state is CachedState.EVICTING:
            found.append(_desired(view, present=False))
        elif view.cached.state is CachedState.FILLING and view.cached.attempt > 0:
            source = fill_sources.source_of(tx, ways, view)
            found.append(_desired(view, present=True, source=source.id if source and not source.is_lake else None))
    return found


def _desired(view: CachedView, *, present: bool, source: str | None = None) -> DesiredFill:
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
        attempt=row.attempt,
        want="present" if present else "absent",
        source=source,
    )
