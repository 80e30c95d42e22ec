"""A backup of the server's database, keys and files, and what was done about backups."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum


@dataclass(frozen=True, slots=True)
class Backup:
    """One complete backup, as its `backup.json` describes it."""

    id: str
    created_at: datetime
    # The version of Millpond that made it, and the revision of the database's tables.
    version: str
    revision: str
    # `sqlite` or `postgresql`; it can be restored into either.
    engine: str
    # Which database it is a copy of.
    database: str
    tables: int
    rows: int
    files: int
    # What it takes in its place.
    bytes: int
    is_encrypted: bool
    has_keys: bool


class BackupWork(Enum):
    CREATE = "create"
    VERIFY = "verify"


class BackupRunState(Enum):
    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"

    @property
    def is_over(self) -> bool:
        return self in (BackupRunState.DONE, BackupRunState.FAILED)


@dataclass(frozen=True, slots=True)
class BackupRun:
    """One attempt of the server to make or verify a backup."""

    id: str
    work: BackupWork
    state: BackupRunState
    # Who asked for it; `millpond` for the schedule.
    by: str
    asked_at: datetime
    started_at: datetime | None = None
    # When whoever works on it was last heard of.
    seen_at: datetime | None = None
    ended_at: datetime | None = None
    backup_id: str | None = None
    bytes: int | None = None
    rows: int | None = None
    problem: str | None = None
