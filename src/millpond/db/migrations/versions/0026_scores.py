"""What each place would have cost a job when it was placed."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"


def upgrade() -> None:
    op.add_column("placement", sa.Column("scores", sa.JSON(), nullable=False, server_default=sa.text("'[]'")))
