"""Backups as the API shows them."""

from __future__ import annotations

from millpond.model.backup import Backup, BackupRun
from millpond.services.backups.schedule import BackupStatus
from millpond.wire import backups as wire


def backup(one: Backup) -> wire.Backup:
    return wire.Backup.model_validate(one)


def run(one: BackupRun) -> wire.BackupRun:
    return wire.BackupRun(
        id=one.id,
        work=one.work.value,
        state=one.state.value,
        by=one.by,
        asked_at=one.asked_at,
        started_at=one.started_at,
        ended_at=one.ended_at,
        backup_id=one.backup_id,
        bytes=one.bytes,
        rows=one.rows,
        problem=one.problem,
    )


def status(found: BackupStatus) -> wire.BackupStatus:
    return wire.BackupStatus(
        place=found.place,
        every_seconds=found.every_seconds,
        keep=found.keep,
        is_encrypted=found.is_encrypted,
        newest=run(found.newest) if found.newest else None,
        next_at=found.next_at,
        runs=[run(one) for one in found.runs],
        problem=found.problem,
        hint=found.hint,
    )
