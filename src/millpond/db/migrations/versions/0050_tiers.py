"""Tiers of volumes, what sets them, and what keeps volumes to them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0050"
down_revision = "0049"


def upgrade() -> None:
    op.create_table(
        "tier",
        sa.Column("name", sa.String(63), nullable=False),
        sa.Column("throughput", sa.Double(), nullable=False),
        sa.Column("price", sa.Double(), nullable=False),
        sa.Column("bytes_per_second", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("name", name="pk_tier"),
    )
    op.add_column("volume", sa.Column("tier_by", sa.String(300), nullable=True))
    op.add_column("volume", sa.Column("tier_enforced", sa.JSON(none_as_null=True), nullable=True))
    op.add_column("volume", sa.Column("tier_set", sa.JSON(none_as_null=True), nullable=True))
