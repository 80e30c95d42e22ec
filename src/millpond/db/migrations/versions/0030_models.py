"""Models and their versions; names of datasets may be longer, because models are datasets."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"


def upgrade() -> None:
    if op.get_bind().dialect.name != "sqlite":  # which does not look at lengths
        op.alter_column("dataset", "name", existing_type=sa.String(63), type_=sa.String(255), existing_nullable=False)
    op.create_table(
        "model",
        sa.Column("dataset_id", sa.String(32), nullable=False),
        sa.Column("next_version", sa.BigInteger(), nullable=False),
        sa.Column("tags", sa.JSON(), nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["dataset_id"], ["dataset.id"], name=op.f("fk_model_dataset_id_dataset"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("dataset_id", name=op.f("pk_model")),
    )
    op.create_table(
        "model_version",
        sa.Column("dataset_id", sa.String(32), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False, autoincrement=False),
        sa.Column("commit_id", sa.String(64), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("stage", sa.String(20), nullable=False),
        sa.Column("tags", sa.JSON(), nullable=False),
        sa.Column("run_id", sa.String(64), nullable=True),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["commit_id"], ["commit_.id"], name=op.f("fk_model_version_commit_id_commit_"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["dataset_id"], ["dataset.id"], name=op.f("fk_model_version_dataset_id_dataset"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("dataset_id", "number", name=op.f("pk_model_version")),
    )
    op.create_index("ix_model_version_commit_id", "model_version", ["commit_id"])
    op.create_index("ix_model_version_run_id", "model_version", ["run_id"])
