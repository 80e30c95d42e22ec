"""What was asked about backups and what came of it. One is worked on at a time, whichever server does."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, select

from millpond.db.tables import backup_run, server
from millpond.model.backup import BackupRun, BackupRunState, BackupWork

_RUNNING = backup_run.c.state == BackupRunState.RUNNING.value


def insert(tx: Connection, run: BackupRun) -> None:
    tx.execute(
        backup_run.insert().values(
            id=run.id, work=run.work.value, state=run.state.value, by=run.by, asked_at=run.asked_at,
            backup_id=run.backup_id,
        )
    )  # fmt: skip


def get(tx: Connection, run_id: str) -> BackupRun | None:
    row = tx.execute(select(backup_run).where(backup_run.c.id == run_id)).first()
    return _run(row) if row else None


def latest(tx: Connection, *, limit: int) -> Sequence[BackupRun]:
    """Newest first."""
    query = select(backup_run).order_by(backup_run.c.asked_at.desc(), backup_run.c.id.desc()).limit(limit)
    return [_run(row) for row in tx.execute(query)]


def newest_success(tx: Connection) -> BackupRun | None:
    """The newest backup that was made."""
    done = (backup_run.c.work == BackupWork.CREATE.value) & (backup_run.c.state == BackupRunState.DONE.value)
    row = tx.execute(select(backup_run).where(done).order_by(backup_run.c.started_at.desc()).limit(1)).first()
    return _run(row) if row else None


def queued(tx: Connection, work: BackupWork | None = None) -> Sequence[BackupRun]:
    query = select(backup_run).where(backup_run.c.state == BackupRunState.QUEUED.value)
    if work is not None:
        query = query.where(backup_run.c.work == work.value)
    return [_run(row) for row in tx.execute(query.order_by(backup_run.c.asked_at, backup_run.c.id))]


def begin(tx: Connection, run_id: str, *, now: datetime, silent_since: datetime) -> bool:
    """Take a queued run, unless another one is under way. One that nobody was heard of since is given up."""
    # Servers of one database come here one after the other: each waits for the row.
    tx.execute(server.update().values(id=server.c.id))
    given_up = {
        "state": BackupRunState.FAILED.value,
        "ended_at": now,
        "problem": "The server that made it has stopped.",
    }
    tx.execute(backup_run.update().where(_RUNNING, backup_run.c.seen_at < silent_since).values(given_up))
    if tx.scalar(select(backup_run.c.id).where(_RUNNING).limit(1)) is not None:
        return False
    mine = (backup_run.c.id == run_id) & (backup_run.c.state == BackupRunState.QUEUED.value)
    values = {"state": BackupRunState.RUNNING.value, "started_at": now, "seen_at": now}
    return tx.execute(backup_run.update().where(mine).values(values)).rowcount > 0


def seen(tx: Connection, run_id: str, now: datetime) -> None:
    tx.execute(backup_run.update().where(backup_run.c.id == run_id).values(seen_at=now))


def end(tx: Connection, run_id: str, state: BackupRunState, now: datetime, **values: object) -> None:
    ended = {"state": state.value, "ended_at": now, **values}
    tx.execute(backup_run.update().where(backup_run.c.id == run_id, _RUNNING).values(ended))


def forget_before(tx: Connection, moment: datetime, *, keep: str | None) -> None:
    """Runs that ended before, but for `keep`."""
    old = backup_run.c.ended_at < moment
    tx.execute(backup_run.delete().where(old, backup_run.c.id != (keep or "")))


def _run(row: Row[Any]) -> BackupRun:
    return BackupRun(
        row.id, BackupWork(row.work), BackupRunState(row.state), row.by, row.asked_at, row.started_at, row.seen_at,
        row.ended_at, row.backup_id, row.bytes, row.rows, row.problem,
    )  # fmt: skip
