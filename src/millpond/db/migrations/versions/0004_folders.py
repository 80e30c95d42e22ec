"""What leaf pages hold by directory, beside their rows."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.add_column("page", sa.Column("folders", sa.LargeBinary(), nullable=True))
