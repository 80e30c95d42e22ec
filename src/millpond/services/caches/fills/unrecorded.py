"""Published commits that no row knows, because the database is older than they are, or was made anew from the lake.

What the server knows otherwise, by project, dataset and commit, is taken up again: its agent holds the tree against
its pages, and it is ready. Everything else stays foreign, and is never touched.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from logging import getLogger

from sqlalchemy import Connection

from millpond.db import caches, volumes
from millpond.db.caches import CachedView, CommitSize
from millpond.model.cached_state import CachedState
from millpond.model.ids import new_id
from millpond.model.people import SYSTEM
from millpond.model.volume import CachedCommit, Volume
from millpond.wire.observed import CommitSeen

logger = getLogger(__name__)

REASON = "it was found on the volume"


def take_up(tx: Connection, volume: Volume, seen: Sequence[CommitSeen], now: datetime) -> list[CachedView]:
    """A row for each published commit that has none and that the server knows. The volume is locked."""
    rows = {view.cached.commit_id for view in caches.of_volume(tx, volume.id)}
    unknown = {one.commit_id: one for one in seen if one.project_id and one.commit_id not in rows}
    found: list[CachedView] = []
    for size in caches.sizes_of(tx, unknown):
        one = unknown[size.commit_id]
        if (one.project_id, one.dataset_id) == (size.project_id, size.dataset_id):
            caches.insert(tx, _row(tx, volume, size, now))
            view = caches.find(tx, volume.id, size.commit_id)
            assert view is not None  # written just above, in this transaction
            found.append(view)
            logger.info("commit_found %s volume=%s", size.written, volume.name)
    return found


def _row(tx: Connection, volume: Volume, size: CommitSize, now: datetime) -> CachedCommit:
    """It takes no room until it is measured: its bytes are on the disk, and count as foreign so long.

    What commits share by link would otherwise be counted for each, and others be evicted for nothing.
    """
    return CachedCommit(
        id=new_id(),
        volume_id=volume.id,
        project_id=size.project_id,
        dataset_id=size.dataset_id,
        commit_id=size.commit_id,
        state=CachedState.FILLING,
        attempt=volumes.take_attempt(tx, volume.id),
        reserved_bytes=0,
        bytes=size.bytes,
        files=size.files,
        done_bytes=0,
        done_files=0,
        requested_by=SYSTEM.name,
        requested_at=now,
        ready_at=None,
        used_at=now,
        idle_seconds=None,
        pinned=False,
        reason=REASON,
        fetch_bytes=0,
        fetch_files=0,
        found=True,
    )
