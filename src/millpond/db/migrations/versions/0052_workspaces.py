"""Workspaces, their snapshots and schedules, and the jobs that have them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0052"
down_revision = "0051"

_TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    _create_workspaces()
    _create_snapshots()
    op.create_table(
        "workspace_schedule",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("workspace_id", sa.String(32), nullable=False),
        sa.Column("series", sa.String(127), nullable=False),
        sa.Column("cron", sa.String(200), nullable=False),
        sa.Column("timezone", sa.String(63), nullable=False),
        sa.Column("every_seconds", sa.Integer(), nullable=False),
        sa.Column("keep", sa.JSON(), nullable=True),
        sa.Column("created_by", sa.String(63), nullable=False),
        sa.Column("created_at", _TIME, nullable=False),
        sa.Column("next_at", _TIME, nullable=False),
        sa.Column("last_at", _TIME, nullable=True),
        sa.Column("problem", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspace.id"], name=op.f("fk_workspace_schedule_workspace_id_workspace"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_workspace_schedule")),
        sa.UniqueConstraint("workspace_id", "series", name=op.f("uq_workspace_schedule_workspace_id_series")),
    )  # fmt: skip
    op.create_index(op.f("ix_workspace_schedule_next_at"), "workspace_schedule", ["next_at"])
    op.create_table(
        "job_workspace",
        sa.Column("job_id", sa.String(32), nullable=False),
        sa.Column("workspace_id", sa.String(32), nullable=False),
        sa.Column("read_only", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["job.id"], name=op.f("fk_job_workspace_job_id_job"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_id", "workspace_id", name=op.f("pk_job_workspace")),
    )
    op.create_index(op.f("ix_job_workspace_workspace_id"), "job_workspace", ["workspace_id"])


def _create_workspaces() -> None:
    op.create_table(
        "workspace",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("project_id", sa.String(32), nullable=False),
        sa.Column("name", sa.String(63), nullable=False),
        sa.Column("owner_id", sa.String(32), nullable=False),
        sa.Column("owner", sa.String(63), nullable=False),
        sa.Column("shared", sa.Boolean(), nullable=False),
        sa.Column("volume_id", sa.String(32), nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("read_only", sa.Boolean(), nullable=False),
        sa.Column("state", sa.String(10), nullable=False),
        sa.Column("attempt", sa.BigInteger(), nullable=False),
        sa.Column("how", sa.String(10), nullable=False),
        sa.Column("reasons", sa.JSON(), nullable=False),
        sa.Column("expected_seconds", sa.Double(), nullable=True),
        sa.Column("took_seconds", sa.Double(), nullable=True),
        sa.Column("source", sa.JSON(), nullable=False),
        sa.Column("source_commit", sa.String(64), nullable=True),
        sa.Column("created_at", _TIME, nullable=False),
        sa.Column("changed_at", _TIME, nullable=False),
        sa.Column("ready_at", _TIME, nullable=True),
        sa.Column("consistency", sa.String(10), nullable=True),
        sa.Column("quota", sa.String(10), nullable=False),
        sa.Column("files", sa.BigInteger(), nullable=False),
        sa.Column("unique_bytes", sa.BigInteger(), nullable=False),
        sa.Column("shared_bytes", sa.BigInteger(), nullable=False),
        sa.Column("measured_at", _TIME, nullable=True),
        sa.Column("measure", sa.Boolean(), nullable=False),
        sa.Column("done_files", sa.BigInteger(), nullable=False),
        sa.Column("done_bytes", sa.BigInteger(), nullable=False),
        sa.Column("problem", sa.Text(), nullable=True),
        sa.Column("next_number", sa.Integer(), nullable=False),
        sa.Column("restore", sa.JSON(), nullable=True),
        sa.Column("git_url", sa.Text(), nullable=False),
        sa.Column("git_ref", sa.String(255), nullable=False),
        sa.Column("git_job", sa.String(32), nullable=False),
        sa.Column("deleted_at", _TIME, nullable=True),
        sa.Column("deleted_by", sa.String(63), nullable=True),
        sa.ForeignKeyConstraint(["project_id"], ["project.id"], name=op.f("fk_workspace_project_id_project")),
        sa.ForeignKeyConstraint(["volume_id"], ["volume.id"], name=op.f("fk_workspace_volume_id_volume")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_workspace")),
    )
    op.create_index(op.f("ix_workspace_volume_id"), "workspace", ["volume_id"])
    living, deleted = sa.text("deleted_at IS NULL"), sa.text("deleted_at IS NOT NULL")
    op.create_index(
        "ix_workspace_living_name", "workspace", ["project_id", "name"], unique=True, sqlite_where=living,
        postgresql_where=living,
    )  # fmt: skip
    op.create_index(
        "ix_workspace_deleted_at", "workspace", ["deleted_at"], sqlite_where=deleted, postgresql_where=deleted
    )


def _create_snapshots() -> None:
    op.create_table(
        "workspace_snapshot",
        sa.Column("workspace_id", sa.String(32), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(127), nullable=False),
        sa.Column("series", sa.String(127), nullable=False),
        sa.Column("origin", sa.String(10), nullable=False),
        sa.Column("created_by", sa.String(63), nullable=False),
        sa.Column("created_at", _TIME, nullable=False),
        sa.Column("taken_at", _TIME, nullable=True),
        sa.Column("state", sa.String(10), nullable=False),
        sa.Column("attempt", sa.BigInteger(), nullable=False),
        sa.Column("is_near", sa.Boolean(), nullable=False),
        sa.Column("commit_id", sa.String(64), nullable=True),
        sa.Column("leaves_volume", sa.Boolean(), nullable=False),
        sa.Column("consistency", sa.String(10), nullable=True),
        sa.Column("files", sa.BigInteger(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("unique_bytes", sa.BigInteger(), nullable=False),
        sa.Column("done_bytes", sa.BigInteger(), nullable=False),
        sa.Column("run_id", sa.String(32), nullable=True),
        sa.Column("keep", sa.JSON(), nullable=True),
        sa.Column("problem", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspace.id"], name=op.f("fk_workspace_snapshot_workspace_id_workspace"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("workspace_id", "number", name=op.f("pk_workspace_snapshot")),
        sa.UniqueConstraint("workspace_id", "name", name=op.f("uq_workspace_snapshot_workspace_id_name")),
    )  # fmt: skip
    op.create_index(op.f("ix_workspace_snapshot_commit_id"), "workspace_snapshot", ["commit_id"])
    op.create_index(op.f("ix_workspace_snapshot_run_id"), "workspace_snapshot", ["run_id"])
