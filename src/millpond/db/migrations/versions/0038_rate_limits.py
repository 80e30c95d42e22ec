"""Limits of links and sites."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0038"
down_revision = "0037"


def upgrade() -> None:
    for table in ("link", "site"):
        op.add_column(table, sa.Column("rate_limit", sa.JSON(none_as_null=True), nullable=True))
