"""Join tokens that let the agent of an installation in again and again."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0053"
down_revision = "0052"


def upgrade() -> None:
    op.add_column("join_token", sa.Column("standing", sa.Boolean(), nullable=False, server_default=sa.text("false")))
