"""What each source has given to a fill."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0039"
down_revision = "0038"


def upgrade() -> None:
    op.add_column("fill_rate", sa.Column("given", sa.JSON(), nullable=True))
