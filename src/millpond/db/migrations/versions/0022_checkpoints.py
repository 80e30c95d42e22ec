"""Checkpoints of jobs, and how long each attempt may take to end."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    op.add_column("job", sa.Column("checkpoint_commit", sa.String(64), nullable=True))
    op.add_column("job", sa.Column("saved_at", sa.DateTime(timezone=True), nullable=True))
    # Attempts that are under way were told 10 seconds.
    op.add_column("placement", sa.Column("grace_seconds", sa.Integer(), nullable=False, server_default=sa.text("10")))
