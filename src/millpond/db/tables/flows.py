"""Flows with their versions, runs with their steps, and what steps have made before."""

from __future__ import annotations

from sqlalchemy import JSON, Boolean, Column, ForeignKey, Index, Integer, String, Table, Text, UniqueConstraint, text

from millpond.db.tables.base import id_column, metadata, ref_column, time_column

flow = Table(
    "flow",
    metadata,
    id_column(),
    ref_column("project_id", "project.id"),
    Column("name", String(63), nullable=False),
    Column("description", Text, nullable=False),
    Column("newest", Integer, nullable=False),
    Column("created_by", String(63), nullable=False),
    time_column("created_at"),
    time_column("changed_at"),
    time_column("deleted_at", nullable=True),
    Index("uq_flow_name_living", "project_id", "name", unique=True,
          sqlite_where=text("deleted_at IS NULL"), postgresql_where=text("deleted_at IS NULL")),
)  # fmt: skip

# An index of the commits of `.flows`; the text is that of their `flow.yaml`.
flow_version = Table(
    "flow_version",
    metadata,
    Column("flow_id", String(32), ForeignKey("flow.id", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("digest", String(64), nullable=False),
    # Without a foreign key: the versions of a flow that was removed may be collected.
    Column("commit_id", String(64), nullable=False),
    Column("text", Text, nullable=False),
    Column("steps", Integer, nullable=False),
    Column("saved_by", String(63), nullable=False),
    time_column("saved_at"),
)

flow_run = Table(
    "flow_run",
    metadata,
    id_column(),
    ref_column("project_id", "project.id", index=False),
    ref_column("flow_id", "flow.id", index=False),
    Column("number", Integer, nullable=False),
    Column("version", Integer, nullable=False),
    Column("phase", String(20), nullable=False),
    Column("reason", Text, nullable=False),
    Column("trigger", JSON, nullable=False),
    # The type of the trigger: what lists are chosen by.
    Column("trigger_type", String(20), nullable=False),
    Column("params", JSON, nullable=False),
    Column("options", JSON, nullable=False),
    Column("pins", JSON, nullable=False),
    Column("created_by", String(63), nullable=False),
    Column("run_as", String(63), nullable=False),
    time_column("created_at"),
    time_column("started_at", nullable=True),
    time_column("ended_at", nullable=True),
    Column("cancelled_by", String(63), nullable=True),
    Column("published", JSON, nullable=False),
    Column("revision", Integer, nullable=False),
    # Something happened to it that no job tells: the loop decides what comes next.
    Column("due", Boolean, nullable=False),
    UniqueConstraint("flow_id", "number"),
    Index("ix_flow_run_project_id_created_at", "project_id", "created_at", "id"),
    # Few, and looked at whenever something happens.
    Index("ix_flow_run_living", "flow_id",
          sqlite_where=text("ended_at IS NULL"), postgresql_where=text("ended_at IS NULL")),
)  # fmt: skip

flow_step = Table(
    "flow_step",
    metadata,
    id_column(),
    ref_column("run_id", "flow_run.id", cascade=True, index=False),
    Column("step", String(63), nullable=False),
    Column("index", Integer, nullable=False),
    Column("state", String(20), nullable=False),
    Column("reason", Text, nullable=False),
    Column("each", JSON, nullable=False),
    Column("params", JSON, nullable=False),
    Column("inputs", JSON, nullable=False),
    Column("outputs", JSON, nullable=False),
    # Without a foreign key: a job that was purged leaves its step behind.
    Column("job_id", String(32), nullable=True),
    Column("memo_key", String(64), nullable=True),
    Column("remembered_from", String(200), nullable=True),
    Column("attempts", Integer, nullable=False),
    time_column("ready_at", nullable=True),
    time_column("started_at", nullable=True),
    time_column("ended_at", nullable=True),
    time_column("expires_at", nullable=True),
    UniqueConstraint("run_id", "step", "index"),
    Index("ix_flow_step_job_id", "job_id"),
    Index("ix_flow_step_living", "run_id",
          sqlite_where=text("ended_at IS NULL"), postgresql_where=text("ended_at IS NULL")),
)  # fmt: skip

flow_memo = Table(
    "flow_memo",
    metadata,
    Column("project_id", String(32), ForeignKey("project.id", ondelete="CASCADE"), primary_key=True),
    Column("key", String(64), primary_key=True),
    # The step that executes it, or did.
    Column("step_id", String(32), nullable=False, index=True),
    Column("made_by", String(200), nullable=False),
    # Null while it is being made.
    Column("outputs", JSON(none_as_null=True), nullable=True),
    time_column("made_at"),
)
