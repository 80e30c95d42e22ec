"""Workspaces that are claims of a Kubernetes cluster."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0062"
down_revision = "0061"


def upgrade() -> None:
    op.add_column("workspace", sa.Column("storage_class", sa.String(253), nullable=False, server_default=""))
    op.add_column("workspace", sa.Column("many_nodes", sa.Boolean(), nullable=False, server_default=sa.text("false")))
