"""What fills brought over links by day, and monthly budgets for it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0045"
down_revision = "0044"


def upgrade() -> None:
    op.create_table(
        "egress",
        sa.Column("day", sa.String(10), nullable=False),
        *(sa.Column(name, sa.String(32), nullable=False) for name in ("project_id", "site_id", "source_id")),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("money", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("day", "project_id", "site_id", "source_id", name=op.f("pk_egress")),
    )
    op.create_table(
        "egress_counted",
        sa.Column("cached_id", sa.String(32), nullable=False),
        sa.Column("attempt", sa.BigInteger(), nullable=False),
        sa.Column("session", sa.String(32), nullable=False),
        sa.Column("given", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["cached_id"],
            ["cached_commit.id"],
            name=op.f("fk_egress_counted_cached_id_cached_commit"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("cached_id", name=op.f("pk_egress_counted")),
    )
    op.create_table(
        "egress_budget",
        sa.Column("project_id", sa.String(32), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=True),
        sa.Column("money", sa.Double(), nullable=True),
        sa.Column("warn_percent", sa.Integer(), nullable=False),
        sa.Column("set_by", sa.String(63), nullable=False),
        sa.Column("set_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("project_id", name=op.f("pk_egress_budget")),
    )
