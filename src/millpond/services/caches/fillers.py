"""Appoints the one agent that fills, evicts and verifies on a volume. In a transaction that has the volume locked."""

from __future__ import annotations

from datetime import datetime
from logging import getLogger

from sqlalchemy import Connection

from millpond.db import caches, sights, volumes
from millpond.decide.filler import Sight, choose_filler
from millpond.model.volume import CachedState, Volume
from millpond.services.caches.cache_checks import is_verifying, renumber
from millpond.services.computes.presence import is_connected

logger = getLogger(__name__)


def appoint(tx: Connection, volume: Volume, now: datetime) -> str | None:
    """The id of the agent that fills the volume now. To be called when an agent has told what it finds there.

    When that is another one than before, everything under way gets a new number: what the other still does under
    the old ones no longer counts, and its directories are taken over.
    """
    found = [
        Sight(sight.agent_id, is_connected(sight.seen_at, now), sight.problem)
        for sight in sights.of_volume(tx, volume.id, volume.site_id)
    ]
    chosen = choose_filler(volume.filler_id, found)
    if chosen != volume.filler_id:
        logger.info("filler_appointed volume=%s agent=%s before=%s", volume.name, chosen, volume.filler_id)
        volumes.change(tx, volume.id, filler_id=chosen)
        if volume.filler_id is not None:
            _renumber(tx, volume)
    return chosen


def _renumber(tx: Connection, volume: Volume) -> None:
    for view in caches.of_volume(tx, volume.id):
        row = view.cached
        is_filling = row.state is CachedState.FILLING and row.attempt > 0
        if is_filling or row.state is CachedState.EVICTING:
            caches.change(tx, row.id, attempt=volumes.take_attempt(tx, volume.id))
        elif is_verifying(row):
            renumber(tx, row, volumes.take_attempt(tx, volume.id))
