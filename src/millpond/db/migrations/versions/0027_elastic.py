"""Elastic computes and their machines."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"


def upgrade() -> None:
    time = sa.DateTime(timezone=True)
    op.create_table(
        "elastic_compute",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("name", sa.String(63), nullable=False, unique=True),
        sa.Column("spec", sa.JSON(), nullable=False),
        sa.Column("created_at", time, nullable=False),
        sa.Column("created_by", sa.String(63), nullable=False),
        sa.Column("changed_at", time, nullable=False),
        sa.Column("changed_by", sa.String(63), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False, server_default=sa.text("0")),
        sa.Column("retry_at", time, nullable=True),
        sa.Column("problem", sa.Text(), nullable=True),
    )
    op.create_table(
        "elastic_node",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("elastic_id", sa.String(32), sa.ForeignKey("elastic_compute.id", ondelete="CASCADE"), nullable=False),
        sa.Column("name", sa.String(63), nullable=False, unique=True),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("join_token_id", sa.String(32), nullable=False),
        sa.Column("compute_id", sa.String(32), nullable=True),
        sa.Column("created_at", time, nullable=False),
        sa.Column("ready_at", time, nullable=True),
        sa.Column("deleting_at", time, nullable=True),
        sa.Column("gone_at", time, nullable=True),
        sa.Column("used", sa.Boolean(), nullable=False, server_default=sa.text("false")),
        sa.Column("price_per_hour", sa.Double(), nullable=False, server_default=sa.text("0")),
        sa.Column("problem", sa.Text(), nullable=True),
    )
    op.create_index("ix_elastic_node_elastic_id", "elastic_node", ["elastic_id"])
    op.create_index("ix_elastic_node_join_token_id", "elastic_node", ["join_token_id"])
    is_living = sa.text("gone_at IS NULL")
    op.create_index(
        "ix_elastic_node_living", "elastic_node", ["elastic_id"], sqlite_where=is_living, postgresql_where=is_living
    )
