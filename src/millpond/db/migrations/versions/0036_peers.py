"""Sites that other sites reach, and the agents that serve them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0036"
down_revision = "0035"


def upgrade() -> None:
    op.add_column("site", sa.Column("address", sa.String(300), nullable=True))
    op.add_column("agent", sa.Column("peer", sa.String(64), nullable=True))
