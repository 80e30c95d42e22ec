"""Mirrors, and what each has put into its bucket."""

from __future__ import annotations

from sqlalchemy import JSON, BigInteger, Column, ForeignKey, Integer, LargeBinary, String, Table, Text, UniqueConstraint

from millpond.db.tables.base import id_column, metadata, ref_column, time_column

mirror = Table(
    "mirror",
    metadata,
    id_column(),
    ref_column("project_id", "project.id", cascade=True, index=False),
    Column("name", String(63), nullable=False),
    # In whose name it runs: a mirror whose user has lost the role, or is gone, does nothing.
    Column("user_id", String(32), ForeignKey("user_account.id", ondelete="SET NULL"), nullable=True, index=True),
    ref_column("dataset_id", "dataset.id", nullable=True, cascade=True),
    Column("branch", String(127), nullable=False),
    ref_column("workspace_id", "workspace.id", nullable=True, cascade=True),
    Column("label", String(127), nullable=False),
    ref_column("connection_id", "connection.id", nullable=True),
    Column("uri", Text, nullable=False),
    ref_column("volume_id", "volume.id", nullable=True, cascade=True),
    Column("every_seconds", Integer, nullable=False),
    time_column("created_at"),
    time_column("next_at", index=True),
    time_column("paused_at", nullable=True),
    # The server that works at it just now, and until when nobody else may.
    Column("runner", String(32), nullable=True),
    time_column("runner_until", nullable=True),
    time_column("started_at", nullable=True),
    time_column("ended_at", nullable=True),
    time_column("asked_at", nullable=True),
    Column("progress", Text, nullable=True),
    Column("snapshot", Integer, nullable=True),
    Column("bringing", String(64), nullable=True),
    Column("commit_id", String(64), nullable=True),
    time_column("content_at", nullable=True),
    time_column("mirrored_at", nullable=True),
    Column("result", JSON, nullable=True),
    Column("problem", Text, nullable=True),
    Column("failures", Integer, nullable=False),
    Column("lag_head", String(64), nullable=True),
    Column("lag_commits", Integer, nullable=False),
    Column("lag_bytes", BigInteger, nullable=False),
    time_column("lag_since", nullable=True),
    UniqueConstraint("project_id", "name"),
)

# What a mirror has put, by the path of the file: whatever else lies at its target belongs to others.
mirror_object = Table(
    "mirror_object",
    metadata,
    Column("mirror_id", String(32), ForeignKey("mirror.id", ondelete="CASCADE"), primary_key=True),
    Column("path", LargeBinary, primary_key=True),
    Column("etag", Text, nullable=False),
    Column("size", BigInteger, nullable=False),
    # Of the file that it was then.
    Column("digest", LargeBinary(32), nullable=False),
    sqlite_with_rowid=False,
)
