"""Hyperparameter searches and their trials."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0031"
down_revision = "0030"


def upgrade() -> None:
    op.create_table(
        "search",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("project_id", sa.String(32), nullable=False),
        sa.Column("name", sa.String(63), nullable=False),
        sa.Column("created_by", sa.String(63), nullable=False),
        sa.Column("user_id", sa.String(32), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("spec", sa.JSON(), nullable=False),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("reasons", sa.JSON(), nullable=False),
        sa.Column("best", sa.JSON(), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("is_open", sa.Boolean(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_search_project_id_project"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_search")),
    )
    op.create_index("ix_search_project_id_created_at", "search", ["project_id", "created_at", "id"])
    op.create_index(
        "ix_search_open", "search", ["id"], sqlite_where=sa.text("is_open"), postgresql_where=sa.text("is_open")
    )
    op.create_table(
        "trial",
        sa.Column("search_id", sa.String(32), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("params", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("job_id", sa.String(32), nullable=True),
        sa.Column("run_id", sa.String(32), nullable=True),
        sa.Column("value_list", sa.JSON(), nullable=False),
        sa.Column("rungs", sa.JSON(), nullable=False),
        sa.Column("problem", sa.Text(), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("is_settled", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["search_id"], ["search.id"], name=op.f("fk_trial_search_id_search"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("search_id", "number", name=op.f("pk_trial")),
    )
    op.create_index(op.f("ix_trial_job_id"), "trial", ["job_id"])
