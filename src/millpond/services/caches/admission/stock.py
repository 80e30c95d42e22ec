"""What lies on a volume, loaded as decisions see it. Names only of projects that the one who asks may know of."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection

from millpond.db import caches, leases, shares, workspaces
from millpond.db.caches import CachedView
from millpond.db.leases import Holder, Sees
from millpond.db.workspaces import StockedRow
from millpond.decide.admission import VolumeSpace, usable_room
from millpond.decide.allocation import BLOCK
from millpond.decide.eviction import VolumeLimits
from millpond.decide.stock import Room, Stock, StockedCommit, StockedWorkspace
from millpond.model.volume import CachedCommit, Volume
from millpond.services.caches import keepers

FOREIGN = "a commit of another project"


def everything(project_id: str | None) -> bool:
    """For decisions whose reasons nobody but the server reads."""
    return True


def stock_of(tx: Connection, volume_id: str, now: datetime, *, sees: Sees = everything) -> Stock:
    holders = leases.holders_on(tx, volume_id, now)
    kept = keepers.kept_on(tx, volume_id)
    held = [
        _held(view, holders.get(view.cached.id, ()), kept.get(view.cached.commit_id), sees)
        for view in caches.of_volume(tx, volume_id)
    ]
    made = [_made(row, sees) for row in workspaces.stocked(tx, volume_id)]
    return Stock(held, shares.of_volume(tx, volume_id), shares.limits_by_project(tx, volume_id), made)


def space_of(volume: Volume) -> VolumeSpace:
    return VolumeSpace(
        name=volume.name,
        capacity_bytes=volume.capacity_bytes,
        reserve_bytes=volume.reserve_bytes,
        disk_free_bytes=volume.disk_free_bytes,
        disk_total_bytes=volume.disk_total_bytes,
        inodes_total=volume.inodes_total,
        inodes_free=volume.inodes_free,
        leftover_bytes=volume.leftover_bytes,
    )


def limits_of(volume: Volume, stock: Stock) -> VolumeLimits:
    usable = usable_room(space_of(volume), stock)
    return VolumeLimits(
        usable_bytes=usable.bytes,
        usable_inodes=usable.inodes,
        idle_seconds=volume.idle_seconds,
        high_percent=volume.high_percent,
        low_percent=volume.low_percent,
    )


def _held(view: CachedView, holders: Sequence[Holder], kept_for: str | None, sees: Sees) -> StockedCommit:
    row, is_known = view.cached, sees(view.cached.project_id)
    written = _written(row)
    return StockedCommit(
        id=row.id,
        name=view.written if is_known else FOREIGN,
        state=row.state,
        attempt=row.attempt,
        reserved_bytes=row.reserved_bytes,
        written_bytes=written.bytes,
        requested_at=row.requested_at,
        used_at=row.used_at,
        idle_seconds=row.idle_seconds if row.idle_seconds is not None else view.dataset_idle_seconds,
        pinned=row.pinned,
        leased_by=tuple(holder.shown(sees, known=is_known) for holder in holders),
        project_id=row.project_id,
        reserved_inodes=row.reserved_inodes,
        written_inodes=written.inodes,
        pinned_by=row.pinned_by if is_known else None,
        kept_for=(kept_for if is_known else "a branch") if kept_for and not view.leaving else None,
        base_id=row.base_id,
        cost=float(row.bytes),
        is_known=is_known,
    )


def _made(row: StockedRow, sees: Sees) -> StockedWorkspace:
    """Of one in the bin, which nobody writes to, only what it has written; near snapshots take their room beside."""
    reserved = row.written_bytes if row.is_deleted else max(row.size_bytes, row.written_bytes)
    return StockedWorkspace(
        id=row.id,
        name=f"{row.project}/{row.name}" + (" (in the bin)" if row.is_deleted else ""),
        project_id=row.project_id,
        owner=row.owner,
        reserved_bytes=reserved + row.snapshot_bytes,
        written_bytes=row.written_bytes + row.snapshot_bytes,
        is_waiting=row.is_waiting,
        is_known=sees(row.project_id),
    )


def _written(row: CachedCommit) -> Room:
    """Of what was promised to a fill, as much as it has come along. Of small files most is not their content."""
    whole = row.bytes + row.files * BLOCK
    done = min(whole, row.done_bytes + row.done_files * BLOCK)
    return Room(row.reserved_bytes * done // whole, row.reserved_inodes * done // whole) if whole else Room()
