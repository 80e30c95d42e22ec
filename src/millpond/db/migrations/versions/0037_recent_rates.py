"""Rates of fills over their last seconds."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0037"
down_revision = "0036"


def upgrade() -> None:
    op.add_column("fill_rate", sa.Column("files", sa.BigInteger(), nullable=False, server_default="0"))
    op.add_column("fill_rate", sa.Column("at", sa.DateTime(timezone=True), nullable=True))
