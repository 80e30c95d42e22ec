"""Files of request logs of endpoints, and samples of what their routers counted."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0047"
down_revision = "0046"


def upgrade() -> None:
    op.create_table(
        "request_log",
        sa.Column("endpoint_id", sa.String(32), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("rows", sa.Integer(), nullable=False),
        sa.Column("bytes", sa.Integer(), nullable=False),
        sa.Column("received_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("committed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("commit_id", sa.String(64), nullable=True),
        sa.ForeignKeyConstraint(
            ["endpoint_id"], ["endpoint.id"], name=op.f("fk_request_log_endpoint_id_endpoint"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("endpoint_id", "digest", name=op.f("pk_request_log")),
    )
    op.create_table(
        "endpoint_sample",
        sa.Column("endpoint_id", sa.String(32), nullable=False),
        sa.Column("placement_id", sa.String(32), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("stats", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["endpoint_id"], ["endpoint.id"], name=op.f("fk_endpoint_sample_endpoint_id_endpoint"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("endpoint_id", "placement_id", "at", name=op.f("pk_endpoint_sample")),
    )
