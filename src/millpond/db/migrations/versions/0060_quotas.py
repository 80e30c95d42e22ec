"""Quotas of projects, and their API calls of the last minutes."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0060"
down_revision = "0059"


def upgrade() -> None:
    op.create_table(
        "project_quota",
        sa.Column("project_id", sa.String(32), nullable=False),
        sa.Column("lake_bytes", sa.BigInteger(), nullable=True),
        sa.Column("cached_bytes", sa.BigInteger(), nullable=True),
        sa.Column("jobs", sa.Integer(), nullable=True),
        sa.Column("calls_per_minute", sa.Integer(), nullable=True),
        sa.Column("set_by", sa.String(100), nullable=False),
        sa.Column("set_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name="fk_project_quota_project_id_project", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("project_id", name="pk_project_quota"),
    )
    op.create_table(
        "project_calls",
        sa.Column("project_id", sa.String(32), nullable=False),
        sa.Column("minute", sa.Integer(), nullable=False),
        sa.Column("server_id", sa.String(32), nullable=False),
        sa.Column("who", sa.String(100), nullable=False),
        sa.Column("calls", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name="fk_project_calls_project_id_project", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("project_id", "minute", "server_id", "who", name="pk_project_calls"),
    )
    op.create_index("ix_project_calls_minute", "project_calls", ["minute"])
