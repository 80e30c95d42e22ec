"""What the server did, or is asked to do, about backups of itself."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, String, Table, Text

from millpond.db.tables.base import id_column, metadata, time_column

backup_run = Table(
    "backup_run",
    metadata,
    id_column(),
    # model/backup.py: BackupWork, BackupRunState.
    Column("work", String(10), nullable=False),
    Column("state", String(10), nullable=False),
    Column("by", String(100), nullable=False),
    time_column("asked_at", index=True),
    time_column("started_at", nullable=True),
    time_column("seen_at", nullable=True),
    time_column("ended_at", nullable=True),
    Column("backup_id", String(40), nullable=True),
    Column("bytes", BigInteger, nullable=True),
    Column("rows", BigInteger, nullable=True),
    Column("problem", Text, nullable=True),
)
