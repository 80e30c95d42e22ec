"""Models: what the lake does not know of the datasets that hold them, and of their versions."""

from __future__ import annotations

from sqlalchemy import JSON, BigInteger, Column, ForeignKey, String, Table, Text

from millpond.db.tables.base import metadata, time_column

model = Table(
    "model",
    metadata,
    Column("dataset_id", String(32), ForeignKey("dataset.id", ondelete="CASCADE"), primary_key=True),
    # Numbers are given once: one of a version that was removed for good does not come back.
    Column("next_version", BigInteger, nullable=False),
    Column("tags", JSON, nullable=False),
    time_column("changed_at"),
)

model_version = Table(
    "model_version",
    metadata,
    Column("dataset_id", String(32), ForeignKey("dataset.id", ondelete="CASCADE"), primary_key=True),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("commit_id", String(64), ForeignKey("commit_.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("description", Text, nullable=False),
    Column("stage", String(20), nullable=False),
    Column("tags", JSON, nullable=False),
    # Not a foreign key: the run may be gone, or have been one of another server.
    Column("run_id", String(64), nullable=True, index=True),
    time_column("changed_at"),
    time_column("deleted_at", nullable=True),
    # What the newest check found out; and its job, until it has ended.
    Column("check_report", JSON, nullable=True),
    Column("check_job", String(32), nullable=True, index=True),
)
