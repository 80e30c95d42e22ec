"""Mirrors, and what each has put into its bucket."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0057"
down_revision = "0056"

_TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "mirror",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("project_id", sa.String(32), nullable=False),
        sa.Column("name", sa.String(63), nullable=False),
        sa.Column("user_id", sa.String(32), nullable=True),
        sa.Column("dataset_id", sa.String(32), nullable=True),
        sa.Column("branch", sa.String(127), nullable=False),
        sa.Column("workspace_id", sa.String(32), nullable=True),
        sa.Column("label", sa.String(127), nullable=False),
        sa.Column("connection_id", sa.String(32), nullable=True),
        sa.Column("uri", sa.Text(), nullable=False),
        sa.Column("volume_id", sa.String(32), nullable=True),
        sa.Column("every_seconds", sa.Integer(), nullable=False),
        sa.Column("created_at", _TIME, nullable=False),
        sa.Column("next_at", _TIME, nullable=False),
        sa.Column("paused_at", _TIME, nullable=True),
        sa.Column("runner", sa.String(32), nullable=True),
        sa.Column("runner_until", _TIME, nullable=True),
        sa.Column("started_at", _TIME, nullable=True),
        sa.Column("ended_at", _TIME, nullable=True),
        sa.Column("asked_at", _TIME, nullable=True),
        sa.Column("progress", sa.Text(), nullable=True),
        sa.Column("snapshot", sa.Integer(), nullable=True),
        sa.Column("bringing", sa.String(64), nullable=True),
        sa.Column("commit_id", sa.String(64), nullable=True),
        sa.Column("content_at", _TIME, nullable=True),
        sa.Column("mirrored_at", _TIME, nullable=True),
        sa.Column("result", sa.JSON(), nullable=True),
        sa.Column("problem", sa.Text(), nullable=True),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("lag_head", sa.String(64), nullable=True),
        sa.Column("lag_commits", sa.Integer(), nullable=False),
        sa.Column("lag_bytes", sa.BigInteger(), nullable=False),
        sa.Column("lag_since", _TIME, nullable=True),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_mirror_project_id_project"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user_account.id"], name=op.f("fk_mirror_user_id_user_account"), ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(
            ["dataset_id"], ["dataset.id"], name=op.f("fk_mirror_dataset_id_dataset"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspace.id"], name=op.f("fk_mirror_workspace_id_workspace"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["connection_id"], ["connection.id"], name=op.f("fk_mirror_connection_id_connection")),
        sa.ForeignKeyConstraint(
            ["volume_id"], ["volume.id"], name=op.f("fk_mirror_volume_id_volume"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_mirror")),
        sa.UniqueConstraint("project_id", "name", name=op.f("uq_mirror_project_id_name")),
    )
    for column in ("user_id", "dataset_id", "workspace_id", "connection_id", "volume_id", "next_at"):
        op.create_index(op.f(f"ix_mirror_{column}"), "mirror", [column])
    op.create_table(
        "mirror_object",
        sa.Column("mirror_id", sa.String(32), nullable=False),
        sa.Column("path", sa.LargeBinary(), nullable=False),
        sa.Column("etag", sa.Text(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("digest", sa.LargeBinary(32), nullable=False),
        sa.ForeignKeyConstraint(
            ["mirror_id"], ["mirror.id"], name=op.f("fk_mirror_object_mirror_id_mirror"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("mirror_id", "path", name=op.f("pk_mirror_object")),
        sqlite_with_rowid=False,
    )
