"""What a job asks of the driver that runs it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.add_column("job", sa.Column("options", sa.JSON(), nullable=False, server_default=sa.text("'{}'")))
