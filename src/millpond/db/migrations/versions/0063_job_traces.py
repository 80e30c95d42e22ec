"""The trace in which a job was submitted."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0063"
down_revision = "0062"


def upgrade() -> None:
    op.add_column("job", sa.Column("trace", sa.String(100), nullable=True))
