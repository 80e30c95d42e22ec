"""Triggers of flows with what set them off, and backfills."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0035"
down_revision = "0034"

_KEPT = sa.text("removed_at IS NULL")
_LIVING = sa.text("ended_at IS NULL")


def upgrade() -> None:
    _create_triggers()
    _create_firings()
    _create_backfills()


def _id(name: str = "id") -> sa.Column[str]:
    return sa.Column(name, sa.String(32), nullable=False)


def _time(name: str, *, nullable: bool = False) -> sa.Column[object]:
    return sa.Column(name, sa.DateTime(timezone=True), nullable=nullable)


def _of(table: str, column: str, target: str, *, cascade: bool = False) -> sa.ForeignKeyConstraint:
    name = op.f(f"fk_{table}_{column}_{target}")
    return sa.ForeignKeyConstraint([column], [f"{target}.id"], name=name, ondelete="CASCADE" if cascade else None)


def _create_triggers() -> None:
    op.create_table(
        "flow_trigger",
        _id(),
        _id("project_id"),
        _id("flow_id"),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("type", sa.String(20), nullable=False),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.Column("watched_project_id", sa.String(32), nullable=True),
        sa.Column("watched_dataset", sa.String(255), nullable=True),
        sa.Column("watched_branch", sa.String(127), nullable=True),
        sa.Column("upstream", sa.String(63), nullable=True),
        _time("created_at"),
        _time("disabled_at", nullable=True),
        sa.Column("disabled_by", sa.String(63), nullable=True),
        sa.Column("disabled_reason", sa.Text(), nullable=False),
        sa.Column("secret", sa.LargeBinary(), nullable=True),
        _time("secret_at", nullable=True),
        sa.Column("seen", sa.String(64), nullable=True),
        *(_time(name, nullable=True) for name in ("next_at", "fired_at", "removed_at")),
        _of("flow_trigger", "project_id", "project"),
        _of("flow_trigger", "flow_id", "flow", cascade=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_flow_trigger")),
    )
    op.create_index("ix_flow_trigger_flow_id", "flow_trigger", ["flow_id"])
    op.create_index("ix_flow_trigger_due", "flow_trigger", ["next_at"], sqlite_where=_KEPT, postgresql_where=_KEPT)


def _create_firings() -> None:
    table = "flow_firing"
    op.create_table(
        table,
        _id(),
        _id("trigger_id"),
        _id("flow_id"),
        _id("project_id"),
        sa.Column("occurrence", sa.String(200), nullable=False),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("commit", sa.String(64), nullable=True),
        sa.Column("base", sa.String(64), nullable=True),
        sa.Column("commits", sa.Integer(), nullable=False),
        _time("scheduled_at", nullable=True),
        sa.Column("params", sa.JSON(), nullable=False),
        sa.Column("manual", sa.Boolean(), nullable=False),
        sa.Column("run_id", sa.String(32), nullable=True),
        sa.Column("run_number", sa.Integer(), nullable=True),
        sa.Column("tries", sa.Integer(), nullable=False),
        _time("created_at"),
        _time("due_at"),
        _time("ended_at", nullable=True),
        _of(table, "trigger_id", "flow_trigger", cascade=True),
        _of(table, "flow_id", "flow", cascade=True),
        _of(table, "project_id", "project"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_flow_firing")),
        sa.UniqueConstraint("trigger_id", "occurrence", name=op.f("uq_flow_firing_trigger_id_occurrence")),
    )
    for column in ("trigger_id", "flow_id"):
        op.create_index(f"ix_flow_firing_{column}_created_at", table, [column, "created_at", "id"])
    op.create_index("ix_flow_firing_waiting", table, ["due_at"], sqlite_where=_LIVING, postgresql_where=_LIVING)


def _create_backfills() -> None:
    table = "flow_backfill"
    op.create_table(
        table,
        _id(),
        _id("project_id"),
        _id("flow_id"),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("given", sa.JSON(), nullable=False),
        sa.Column("max_parallel", sa.Integer(), nullable=False),
        sa.Column("created_by", sa.String(63), nullable=False),
        _time("created_at"),
        sa.Column("cancelled_by", sa.String(63), nullable=True),
        _time("ended_at", nullable=True),
        _of(table, "project_id", "project"),
        _of(table, "flow_id", "flow", cascade=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_flow_backfill")),
    )
    op.create_index("ix_flow_backfill_project_id_created_at", table, ["project_id", "created_at", "id"])
    op.create_index("ix_flow_backfill_living", table, ["flow_id"], sqlite_where=_LIVING, postgresql_where=_LIVING)
    op.create_table(
        "flow_backfill_part",
        _id("backfill_id"),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("params", sa.JSON(), nullable=False),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("run_id", sa.String(32), nullable=True),
        _of("flow_backfill_part", "backfill_id", "flow_backfill", cascade=True),
        sa.PrimaryKeyConstraint("backfill_id", "number", name=op.f("pk_flow_backfill_part")),
    )
    op.create_index("ix_flow_backfill_part_run_id", "flow_backfill_part", ["run_id"])
