"""How often replicas and routers failed since they last served, and what makes waiting for an endpoint useless."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0049"
down_revision = "0048"


def upgrade() -> None:
    op.add_column("endpoint", sa.Column("failure", sa.Text(), nullable=True))
    op.add_column("replica", sa.Column("failures", sa.JSON(), nullable=True))
    op.add_column("router", sa.Column("failures", sa.JSON(), nullable=True))
