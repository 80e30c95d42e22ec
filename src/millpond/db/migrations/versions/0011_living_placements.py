"""Placements that have not ended are found without looking at all that have."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    living = sa.text("ended_at IS NULL")
    op.create_index(
        "ix_placement_living", "placement", ["agent_id"], sqlite_where=living, postgresql_where=living
    )  # fmt: skip
