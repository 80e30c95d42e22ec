"""The server's secret, sealed with a key outside the database."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0056"
down_revision = "0055"


def upgrade() -> None:
    op.add_column("server", sa.Column("sealed_secret", sa.LargeBinary(), nullable=True))
    op.add_column("server", sa.Column("sealed_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("server", sa.Column("secret_hidden", sa.Boolean(), nullable=False, server_default=sa.text("false")))
