"""What evicted commits have left on a volume is not free."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    op.add_column("volume", sa.Column("leftover_bytes", sa.BigInteger(), nullable=False, server_default=sa.text("0")))
