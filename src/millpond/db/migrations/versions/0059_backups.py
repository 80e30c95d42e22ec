"""What the server did about backups of itself."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from millpond.db.tables.base import UtcTime

revision = "0059"
down_revision = "0058"


def upgrade() -> None:
    op.create_table(
        "backup_run",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("work", sa.String(10), nullable=False),
        sa.Column("state", sa.String(10), nullable=False),
        sa.Column("by", sa.String(100), nullable=False),
        sa.Column("asked_at", UtcTime(), nullable=False),
        sa.Column("started_at", UtcTime(), nullable=True),
        sa.Column("seen_at", UtcTime(), nullable=True),
        sa.Column("ended_at", UtcTime(), nullable=True),
        sa.Column("backup_id", sa.String(40), nullable=True),
        sa.Column("bytes", sa.BigInteger(), nullable=True),
        sa.Column("rows", sa.BigInteger(), nullable=True),
        sa.Column("problem", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_backup_run"),
    )
    op.create_index("ix_backup_run_asked_at", "backup_run", ["asked_at"])
