"""Jobs that are suspended."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0028"


def upgrade() -> None:
    op.add_column("job", sa.Column("suspended_at", sa.DateTime(timezone=True), nullable=True))
