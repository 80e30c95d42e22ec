"""Tells of what is wrong and stays so: disks of volumes that are nearly full, and backups that fail. Told once, until
it was well again."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection

from millpond.db import backup_runs, notices, notifications, volumes
from millpond.decide.notifications.notices import is_nearly_full, of_backup, of_volume
from millpond.model.backup import BackupRun, BackupRunState, BackupWork
from millpond.model.notification import Notice
from millpond.services.deps import Deps
from millpond.services.notifications.topics import NOTICES

SECONDS = 15.0
_VOLUME = "volume:"
_BACKUP = "backup:"
_LOOKED_AT = 20


def look(deps: Deps, now: datetime) -> int:
    """How much new there is to tell."""
    with deps.db.read() as tx:
        raised, wrong = frozenset(notifications.alarms(tx)), _wrong(tx, now)
    ended, begun = raised - wrong.keys(), wrong.keys() - raised
    if not ended and not begun:
        return 0
    count = 0
    with deps.db.write() as tx:
        for key in sorted(ended):
            notifications.end_alarm(tx, key)
        for key in sorted(begun):
            if notifications.raise_alarm(tx, key, now):
                notices.insert(tx, wrong[key])
                count += 1
    if count:
        deps.events.wake(NOTICES)
    return count


def _wrong(tx: Connection, now: datetime) -> dict[str, Notice]:
    """What is wrong at the moment, by the key of its alarm."""
    raised = notifications.alarms(tx)
    found = {}
    for volume in volumes.all_of(tx):
        key = f"{_VOLUME}{volume.id}"
        if is_nearly_full(volume, was=key in raised):
            found[key] = of_volume(volume, now)
    runs = backup_runs.latest(tx, limit=_LOOKED_AT)
    for work in BackupWork:
        run = _newest_ended(runs, work)
        if run is not None and run.state is BackupRunState.FAILED:
            is_verification = work is BackupWork.VERIFY
            found[f"{_BACKUP}{work.value}"] = of_backup(
                run.problem, run_id=run.id, is_verification=is_verification, now=now
            )  # fmt: skip
    return found


def _newest_ended(runs: Sequence[BackupRun], work: BackupWork) -> BackupRun | None:
    return next((run for run in runs if run.work is work and run.state.is_over), None)
