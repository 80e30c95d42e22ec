"""Which versions may use the database, and requests that were made with a key."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0061"
down_revision = "0060"

_TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.add_column("server", sa.Column("usable_from", sa.String(10), nullable=True))
    op.create_table(
        "request_key",
        sa.Column("key", sa.LargeBinary(32), nullable=False),
        sa.Column("made_at", _TIME, nullable=False),
        sa.Column("server", sa.String(32), nullable=False),
        sa.Column("location", sa.Text(), nullable=True),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("media_type", sa.String(100), nullable=True),
        sa.Column("body", sa.LargeBinary(), nullable=True),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_request_key")),
    )
    op.create_index(op.f("ix_request_key_made_at"), "request_key", ["made_at"])
