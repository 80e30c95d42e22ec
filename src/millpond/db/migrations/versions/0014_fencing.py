"""Since which owner record a database was compared with its lake, and the datasets that differ from it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    op.add_column("server", sa.Column("epoch", sa.BigInteger(), nullable=True))
    op.add_column("dataset", sa.Column("conflict", sa.Text(), nullable=True))
