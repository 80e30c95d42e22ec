"""Workspaces, their snapshots and schedules, and the jobs that have them (docs/design/028)."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from millpond.db.tables.base import id_column, metadata, ref_column, time_column

workspace = Table(
    "workspace",
    metadata,
    id_column(),
    ref_column("project_id", "project.id", index=False),
    Column("name", String(63), nullable=False),
    # No foreign key: somebody who was deleted leaves workspaces behind.
    Column("owner_id", String(32), nullable=False),
    Column("owner", String(63), nullable=False),
    Column("shared", Boolean, nullable=False),
    ref_column("volume_id", "volume.id"),
    Column("size_bytes", BigInteger, nullable=False),
    Column("read_only", Boolean, nullable=False),
    Column("state", String(10), nullable=False),
    Column("attempt", BigInteger, nullable=False),
    Column("how", String(10), nullable=False),
    Column("reasons", JSON, nullable=False),
    Column("expected_seconds", Double, nullable=True),
    Column("took_seconds", Double, nullable=True),
    # model/workspace.py: WorkspaceSource; and the commit of it, which is not collected while it is needed.
    Column("source", JSON, nullable=False),
    Column("source_commit", String(64), nullable=True),
    time_column("created_at"),
    time_column("changed_at"),
    time_column("ready_at", nullable=True),
    Column("consistency", String(10), nullable=True),
    Column("quota", String(10), nullable=False),
    Column("files", BigInteger, nullable=False),
    Column("unique_bytes", BigInteger, nullable=False),
    Column("shared_bytes", BigInteger, nullable=False),
    time_column("measured_at", nullable=True),
    Column("measure", Boolean, nullable=False),
    Column("done_files", BigInteger, nullable=False),
    Column("done_bytes", BigInteger, nullable=False),
    Column("problem", Text, nullable=True),
    Column("next_number", Integer, nullable=False),
    # model/workspace.py: WorkspaceRestore, while one is under way.
    Column("restore", JSON(none_as_null=True), nullable=True),
    Column("git_url", Text, nullable=False),
    Column("git_ref", String(255), nullable=False),
    Column("git_job", String(32), nullable=False),
    time_column("deleted_at", nullable=True),
    Column("deleted_by", String(63), nullable=True),
    # Of a claim of a Kubernetes cluster: its class, and whether several nodes may have it.
    Column("storage_class", String(253), nullable=False, server_default=""),
    Column("many_nodes", Boolean, nullable=False, server_default=text("false")),
    Index("ix_workspace_living_name", "project_id", "name", unique=True,
          sqlite_where=text("deleted_at IS NULL"), postgresql_where=text("deleted_at IS NULL")),
    Index("ix_workspace_deleted_at", "deleted_at",
          sqlite_where=text("deleted_at IS NOT NULL"), postgresql_where=text("deleted_at IS NOT NULL")),
)  # fmt: skip

workspace_snapshot = Table(
    "workspace_snapshot",
    metadata,
    Column("workspace_id", String(32), ForeignKey("workspace.id", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("name", String(127), nullable=False),
    Column("series", String(127), nullable=False),
    Column("origin", String(10), nullable=False),
    Column("created_by", String(63), nullable=False),
    time_column("created_at"),
    time_column("taken_at", nullable=True),
    Column("state", String(10), nullable=False),
    Column("attempt", BigInteger, nullable=False),
    Column("is_near", Boolean, nullable=False),
    # No foreign key: the row is noted in the transaction that makes the commit visible.
    Column("commit_id", String(64), nullable=True, index=True),
    Column("leaves_volume", Boolean, nullable=False),
    Column("consistency", String(10), nullable=True),
    Column("files", BigInteger, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("unique_bytes", BigInteger, nullable=False),
    Column("done_bytes", BigInteger, nullable=False),
    Column("run_id", String(32), nullable=True, index=True),
    Column("keep", JSON(none_as_null=True), nullable=True),
    Column("problem", Text, nullable=True),
    UniqueConstraint("workspace_id", "name"),
)

workspace_schedule = Table(
    "workspace_schedule",
    metadata,
    id_column(),
    ref_column("workspace_id", "workspace.id", cascade=True, index=False),
    Column("series", String(127), nullable=False),
    Column("cron", String(200), nullable=False),
    Column("timezone", String(63), nullable=False),
    Column("every_seconds", Integer, nullable=False),
    Column("keep", JSON(none_as_null=True), nullable=True),
    Column("created_by", String(63), nullable=False),
    time_column("created_at"),
    time_column("next_at", index=True),
    time_column("last_at", nullable=True),
    Column("problem", Text, nullable=True),
    UniqueConstraint("workspace_id", "series"),
)

# Which jobs have which workspaces, so that nobody need read every job's specification.
job_workspace = Table(
    "job_workspace",
    metadata,
    Column("job_id", String(32), ForeignKey("job.id", ondelete="CASCADE"), primary_key=True),
    # No foreign key: the workspace may be purged before the job.
    Column("workspace_id", String(32), primary_key=True, index=True),
    Column("read_only", Boolean, nullable=False),
)
