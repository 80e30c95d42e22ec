"""Connections that may be written through, too."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0054"
down_revision = "0053"


def upgrade() -> None:
    op.add_column("connection", sa.Column("writable", sa.Boolean(), nullable=False, server_default=sa.text("false")))
