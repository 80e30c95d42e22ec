"""Fills that nobody waits for."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0043"
down_revision = "0042"


def upgrade() -> None:
    op.add_column("cached_commit", sa.Column("prefetch", sa.Boolean(), nullable=False, server_default=sa.text("false")))
