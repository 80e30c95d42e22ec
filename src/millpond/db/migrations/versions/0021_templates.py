"""Templates, queues, the template that a job runs on, and the memory of GPUs."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    op.create_table(
        "template",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("name", sa.String(63), nullable=False),
        sa.Column("spec", sa.JSON(), nullable=False),
        *_changes(),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_template")),
        sa.UniqueConstraint("name", name=op.f("uq_template_name")),
    )
    op.create_table(
        "queue",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("name", sa.String(63), nullable=False),
        sa.Column("templates", sa.JSON(), nullable=False),
        sa.Column("description", sa.String(1000), nullable=False),
        *_changes(),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_queue")),
        sa.UniqueConstraint("name", name=op.f("uq_queue_name")),
    )
    op.add_column("job", sa.Column("template", sa.JSON(none_as_null=True), nullable=True))
    op.add_column("node", sa.Column("gpu_memory_bytes", sa.BigInteger(), nullable=False, server_default=sa.text("0")))


def _changes() -> list[sa.Column[object]]:
    return [
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_by", sa.String(63), nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("changed_by", sa.String(63), nullable=False),
    ]
