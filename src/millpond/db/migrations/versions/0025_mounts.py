"""Mounts: directories that administrators let jobs mount."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"


def upgrade() -> None:
    op.create_table(
        "mount",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("name", sa.String(63), nullable=False),
        sa.Column("path", sa.String(1000), nullable=False),
        sa.Column("site_id", sa.String(32), nullable=True),
        sa.Column("read_only", sa.Boolean(), nullable=False),
        sa.Column("all_projects", sa.Boolean(), nullable=False),
        sa.Column("project_ids", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_by", sa.String(63), nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("changed_by", sa.String(63), nullable=False),
        sa.ForeignKeyConstraint(["site_id"], ["site.id"], name=op.f("fk_mount_site_id_site")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_mount")),
        sa.UniqueConstraint("name", name=op.f("uq_mount_name")),
    )
