"""Backups of the server, for administrators."""

from __future__ import annotations

from typing import Literal

from millpond.wire.base import Response, Time

Work = Literal["create", "verify"]
RunState = Literal["queued", "running", "done", "failed"]


class Backup(Response):
    """A complete backup. `bytes` is what it takes in its place."""

    id: str
    created_at: Time
    version: str
    revision: str
    engine: str
    database: str
    tables: int
    rows: int
    files: int
    bytes: int
    is_encrypted: bool
    has_keys: bool


class BackupRun(Response):
    """One attempt to make or verify a backup."""

    id: str
    work: Work
    state: RunState
    by: str
    asked_at: Time
    started_at: Time | None
    ended_at: Time | None
    backup_id: str | None
    bytes: int | None
    rows: int | None
    problem: str | None


class BackupStatus(Response):
    """`problem` says what is wrong; null: all is well. `every_seconds` 0: only when asked."""

    place: str | None
    every_seconds: float
    keep: int
    is_encrypted: bool
    newest: BackupRun | None
    next_at: Time | None
    runs: list[BackupRun]
    problem: str | None
    hint: str | None


class Verified(Response):
    """What was read, compared and put together."""

    id: str
    tables: int
    rows: int
    files: int
    bytes: int


class Restored(Response):
    """What was restored. `lake`: the one that the restored server owns now; null: it was left alone."""

    id: str
    created_at: Time
    tables: int
    rows: int
    files: int
    data_dir: str
    lake: str | None
    start: str
