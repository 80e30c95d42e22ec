"""Appoints the one agent that fills, evicts and verifies on a volume. In a transaction that has the volume locked."""

from __future__ import annotations

from logging import getLogger

from sqlalchemy import Connection

from millpond.db import caches, volume_sightings, volumes
from millpond.decide.filler import Sight, choose_filler
from millpond.model.cached_state import CachedState
from millpond.model.volume import Volume
from millpond.services.caches.verification import renumber
from millpond.services.computes import presence
from millpond.services.computes.presence import is_connected
from millpond.services.deps import Deps
from millpond.services.workspaces import starting as workspace_starting

logger = getLogger(__name__)


def appoint(tx: Connection, deps: Deps, volume: Volume) -> str | None:
    """The id of the agent that fills the volume now. To be called when an agent has told what it finds there.

    When that is another one than before, everything under way gets a new number: what the other still does under
    the old ones no longer counts, and its directories are taken over.
    """
    chosen = choose_filler(volume.filler_id, _sights(tx, deps, volume))
    if chosen != volume.filler_id:
        logger.info("filler_appointed volume=%s agent=%s before=%s", volume.name, chosen, volume.filler_id)
        volumes.change(tx, volume.id, filler_id=chosen)
        if volume.filler_id is not None:
            _renumber(tx, volume)
    return chosen


def _sights(tx: Connection, deps: Deps, volume: Volume) -> list[Sight]:
    """Whoever fills counts as there until its silence was counted by a clock that nobody can set.

    What it was told holds for a time that it counts by such a clock, too: another must not be appointed before. Others
    must have been heard of lately by every clock.
    """
    now, known = deps.clock.now(), volume_sightings.of_volume(tx, volume.id, volume.site_id)
    heard = {sight.agent_id: sight.seen_at for sight in known}
    silent = deps.unchanged.seconds(f"looks at {volume.id}", heard, deps.clock.elapsed())

    def is_there(agent_id: str) -> bool:
        is_heard = silent[agent_id] <= presence.CONNECTED.total_seconds()
        return is_heard and (agent_id == volume.filler_id or is_connected(heard[agent_id], now))

    return [Sight(sight.agent_id, is_there(sight.agent_id), sight.problem) for sight in known]


def _renumber(tx: Connection, volume: Volume) -> None:
    for view in caches.of_volume(tx, volume.id):
        row = view.cached
        is_filling = row.state is CachedState.FILLING and row.attempt > 0
        if is_filling or row.state is CachedState.EVICTING:
            caches.change(tx, row.id, attempt=volumes.take_attempt(tx, volume.id))
        elif row.is_verifying:
            renumber(tx, row, volumes.take_attempt(tx, volume.id))
    workspace_starting.renumber(tx, volume)
