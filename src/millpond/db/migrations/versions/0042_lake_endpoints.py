"""Endpoints of the lake for sites, and what agents find there."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0042"
down_revision = "0041"


def upgrade() -> None:
    op.add_column("site", sa.Column("lake_endpoint", sa.String(300), nullable=True))
    op.create_table(
        "store_sight",
        sa.Column("agent_id", sa.String(32), nullable=False),
        sa.Column("store_id", sa.String(32), nullable=False),
        sa.Column("problem", sa.Text(), nullable=True),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["agent_id"], ["agent.id"], name="fk_store_sight_agent_id_agent", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("agent_id", "store_id", name="pk_store_sight"),
    )
