"""What imports need: connections, sources, and which pages hold external entries."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.add_column("page", sa.Column("external", sa.Text(), nullable=False, server_default=sa.text("''")))
    create_connection()
    create_source()
    create_source_object()


def create_connection() -> None:
    op.create_table(
        "connection",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("project_id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=63), nullable=False),
        sa.Column("root", sa.Text(), nullable=False),
        sa.Column("endpoint", sa.Text(), nullable=True),
        sa.Column("region", sa.String(length=63), nullable=False),
        sa.Column("credentials", sa.LargeBinary(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_by", sa.String(length=63), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_connection_project_id_project"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_connection")),
        sa.UniqueConstraint("project_id", "name", name=op.f("uq_connection_project_id_name")),
    )


def create_source() -> None:
    op.create_table(
        "source",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("project_id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=63), nullable=False),
        sa.Column("dataset_id", sa.String(length=32), nullable=False),
        sa.Column("connection_id", sa.String(length=32), nullable=False),
        sa.Column("user_id", sa.String(length=32), nullable=True),
        sa.Column("uri", sa.Text(), nullable=False),
        sa.Column("listing", sa.Boolean(), nullable=False),
        sa.Column("path", sa.LargeBinary(), nullable=False),
        sa.Column("branch", sa.String(length=127), nullable=False),
        sa.Column("copies", sa.Boolean(), nullable=False),
        sa.Column("every_seconds", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("paused_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("next_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("runner", sa.String(length=32), nullable=True),
        sa.Column("runner_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("result", sa.JSON(), nullable=True),
        sa.Column("problem", sa.Text(), nullable=True),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["connection_id"], ["connection.id"], name=op.f("fk_source_connection_id_connection")),
        sa.ForeignKeyConstraint(
            ["dataset_id"], ["dataset.id"], name=op.f("fk_source_dataset_id_dataset"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_source_project_id_project"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user_account.id"], name=op.f("fk_source_user_id_user_account"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_source")),
        sa.UniqueConstraint("project_id", "name", name=op.f("uq_source_project_id_name")),
    )
    for column in ("connection_id", "dataset_id", "next_at", "user_id"):
        op.create_index(op.f(f"ix_source_{column}"), "source", [column], unique=False)


def create_source_object() -> None:
    op.create_table(
        "source_object",
        sa.Column("source_id", sa.String(length=32), nullable=False),
        sa.Column("path", sa.LargeBinary(), nullable=False),
        sa.Column("etag", sa.Text(), nullable=True),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("digest", sa.LargeBinary(length=32), nullable=False),
        sa.ForeignKeyConstraint(
            ["source_id"], ["source.id"], name=op.f("fk_source_object_source_id_source"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("source_id", "path", name=op.f("pk_source_object")),
        sqlite_with_rowid=False,
    )
