"""How long placements at a site last without word from the server."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0041"
down_revision = "0040"


def upgrade() -> None:
    op.add_column("site", sa.Column("placement_seconds", sa.Integer(), nullable=True))
