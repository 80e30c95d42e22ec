"""When a server makes the next backup of itself, and whether the newest one is too old."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from millpond.model.quantity import format_seconds

# After a failure it is tried again so much later, or after an interval if that is shorter.
_RETRY = timedelta(minutes=30)
# A backup that takes a while is not late.
_TOLERANCE = timedelta(minutes=30)


@dataclass(frozen=True, slots=True)
class BackupHealth:
    """`problem` says what is wrong and, with `hint`, what to do; None: all is well."""

    problem: str | None = None
    hint: str | None = None


def is_due(every: timedelta, *, succeeded_at: datetime | None, tried_at: datetime | None, now: datetime) -> bool:
    """True if a backup is to be made by the schedule. Without an interval, never."""
    if not every:
        return False
    if succeeded_at is not None and now - succeeded_at < every:
        return False
    return tried_at is None or now - tried_at >= min(_RETRY, every)


def health(
    every: timedelta,
    *,
    has_place: bool,
    succeeded_at: datetime | None,
    running_since: datetime,
    last_problem: str | None,
    now: datetime,
) -> BackupHealth:
    """`running_since`: before that, nobody could have made one."""
    if not has_place:
        return BackupHealth("The server makes no backups of itself.", "Start it with --backup-to DIR (docs/backup.md).")
    if not every:
        return BackupHealth()
    age = now - (succeeded_at or running_since)
    if age <= every * 2 + _TOLERANCE:
        return BackupHealth()
    what = (
        f"The newest backup is {format_seconds(age.total_seconds())} old" if succeeded_at else "There is no backup yet"
    )
    why = f": {last_problem}" if last_problem else "."
    return BackupHealth(f"{what}{why}", "Look at: mill backup status")
