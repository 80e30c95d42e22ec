"""Why a cluster starts nothing new on a node."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    op.add_column("node", sa.Column("closed", sa.Text(), nullable=True))
