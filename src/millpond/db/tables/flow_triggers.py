"""Triggers of flows with what set them off, and backfills."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from millpond.db.tables.base import id_column, metadata, ref_column, time_column

flow_trigger = Table(
    "flow_trigger",
    metadata,
    id_column(),
    ref_column("project_id", "project.id", index=False),
    ref_column("flow_id", "flow.id", cascade=True),
    Column("position", Integer, nullable=False),
    Column("type", String(20), nullable=False),
    Column("settings", JSON, nullable=False),
    # Of a commit trigger, by names: the dataset may be deleted and come again.
    Column("watched_project_id", String(32), nullable=True),
    Column("watched_dataset", String(255), nullable=True),
    Column("watched_branch", String(127), nullable=True),
    Column("upstream", String(63), nullable=True),
    time_column("created_at"),
    time_column("disabled_at", nullable=True),
    Column("disabled_by", String(63), nullable=True),
    Column("disabled_reason", Text, nullable=False),
    Column("secret", LargeBinary, nullable=True),
    time_column("secret_at", nullable=True),
    # Without a foreign key: a commit that was collected is still one that was seen.
    Column("seen", String(64), nullable=True),
    time_column("next_at", nullable=True),
    time_column("fired_at", nullable=True),
    # A newer version of the flow does not have it any more; what it fired stays.
    time_column("removed_at", nullable=True),
    Index("ix_flow_trigger_due", "next_at",
          sqlite_where=text("removed_at IS NULL"), postgresql_where=text("removed_at IS NULL")),
)  # fmt: skip

flow_firing = Table(
    "flow_firing",
    metadata,
    id_column(),
    ref_column("trigger_id", "flow_trigger.id", cascade=True, index=False),
    ref_column("flow_id", "flow.id", cascade=True, index=False),
    ref_column("project_id", "project.id", index=False),
    Column("occurrence", String(200), nullable=False),
    Column("state", String(20), nullable=False),
    Column("reason", Text, nullable=False),
    Column("by", Text, nullable=False),
    Column("commit", String(64), nullable=True),
    Column("base", String(64), nullable=True),
    Column("commits", Integer, nullable=False),
    time_column("scheduled_at", nullable=True),
    Column("params", JSON, nullable=False),
    Column("manual", Boolean, nullable=False),
    Column("run_id", String(32), nullable=True),
    Column("run_number", Integer, nullable=True),
    Column("tries", Integer, nullable=False),
    time_column("created_at"),
    time_column("due_at"),
    time_column("ended_at", nullable=True),
    # What happens once starts one run: the row of the second is refused.
    UniqueConstraint("trigger_id", "occurrence"),
    Index("ix_flow_firing_trigger_id_created_at", "trigger_id", "created_at", "id"),
    Index("ix_flow_firing_flow_id_created_at", "flow_id", "created_at", "id"),
    Index("ix_flow_firing_waiting", "due_at",
          sqlite_where=text("ended_at IS NULL"), postgresql_where=text("ended_at IS NULL")),
)  # fmt: skip

flow_backfill = Table(
    "flow_backfill",
    metadata,
    id_column(),
    ref_column("project_id", "project.id", index=False),
    ref_column("flow_id", "flow.id", cascade=True, index=False),
    Column("version", Integer, nullable=False),
    Column("given", JSON, nullable=False),
    Column("max_parallel", Integer, nullable=False),
    Column("created_by", String(63), nullable=False),
    time_column("created_at"),
    Column("cancelled_by", String(63), nullable=True),
    time_column("ended_at", nullable=True),
    Index("ix_flow_backfill_project_id_created_at", "project_id", "created_at", "id"),
    Index("ix_flow_backfill_living", "flow_id",
          sqlite_where=text("ended_at IS NULL"), postgresql_where=text("ended_at IS NULL")),
)  # fmt: skip

flow_backfill_part = Table(
    "flow_backfill_part",
    metadata,
    Column("backfill_id", String(32), ForeignKey("flow_backfill.id", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("params", JSON, nullable=False),
    Column("state", String(20), nullable=False),
    Column("reason", Text, nullable=False),
    Column("run_id", String(32), nullable=True),
    Index("ix_flow_backfill_part_run_id", "run_id"),
)
