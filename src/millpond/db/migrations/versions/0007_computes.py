"""Join tokens, computes that are cordoned, revoked or detached, what their drivers can do, and tests of them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.add_column("agent", sa.Column("cordoned_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("agent", sa.Column("cordoned_by", sa.String(length=63), nullable=True))
    op.add_column("agent", sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("agent", sa.Column("detached_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("agent", sa.Column("capabilities", sa.JSON(), nullable=True))
    op.add_column("token", sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True))
    create_join_token()
    create_compute_test()


def create_join_token() -> None:
    op.create_table(
        "join_token",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("hash", sa.LargeBinary(length=32), nullable=False),
        sa.Column("site_id", sa.String(length=32), nullable=False),
        sa.Column("created_by", sa.String(length=63), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("agent_id", sa.String(length=32), nullable=True),
        sa.ForeignKeyConstraint(["site_id"], ["site.id"], name=op.f("fk_join_token_site_id_site"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_join_token")),
        sa.UniqueConstraint("hash", name=op.f("uq_join_token_hash")),
    )
    op.create_index(op.f("ix_join_token_site_id"), "join_token", ["site_id"])


def create_compute_test() -> None:
    op.create_table(
        "compute_test",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("agent_id", sa.String(length=32), nullable=False),
        sa.Column("created_by", sa.String(length=63), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("checks", sa.JSON(), nullable=True),
        sa.ForeignKeyConstraint(
            ["agent_id"], ["agent.id"], name=op.f("fk_compute_test_agent_id_agent"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_compute_test")),
    )
    op.create_index(op.f("ix_compute_test_agent_id"), "compute_test", ["agent_id"])
