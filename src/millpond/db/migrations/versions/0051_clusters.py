"""Clusters of Dask and Ray: their processes and history."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0051"
down_revision = "0050"

_LIVING = sa.text("state != 'ended'")


def upgrade() -> None:
    op.create_table(
        "cluster",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("project_id", sa.String(32), nullable=False),
        sa.Column("name", sa.String(63), nullable=False),
        sa.Column("created_by", sa.String(63), nullable=False),
        sa.Column("user_id", sa.String(32), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("site_id", sa.String(32), nullable=False),
        sa.Column("site", sa.String(63), nullable=False),
        sa.Column("spec", sa.JSON(), nullable=False),
        sa.Column("secret", sa.LargeBinary(), nullable=False),
        sa.Column("wanted", sa.Integer(), nullable=False),
        sa.Column("wanted_reason", sa.Text(), nullable=False),
        sa.Column("fewer_since", sa.DateTime(timezone=True), nullable=True),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("reasons", sa.JSON(), nullable=False),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_cluster_project_id_project"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_cluster")),
        sa.UniqueConstraint("project_id", "name", name=op.f("uq_cluster_project_id_name")),
    )
    op.create_table(
        "cluster_process",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("cluster_id", sa.String(32), nullable=False),
        sa.Column("role", sa.String(20), nullable=False),
        sa.Column("job_id", sa.String(32), nullable=False),
        sa.Column("job_name", sa.String(63), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("ready_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("retiring_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("placement_id", sa.String(32), nullable=True),
        sa.Column("ready", sa.JSON(), nullable=False),
        sa.Column("problem", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["cluster_id"], ["cluster.id"], name=op.f("fk_cluster_process_cluster_id_cluster"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_cluster_process")),
    )
    op.create_index(op.f("ix_cluster_process_job_id"), "cluster_process", ["job_id"])
    op.create_index(
        "ix_cluster_process_living", "cluster_process", ["cluster_id"], sqlite_where=_LIVING, postgresql_where=_LIVING
    )
    op.create_table(
        "cluster_event",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("cluster_id", sa.String(32), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("what", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["cluster_id"], ["cluster.id"], name=op.f("fk_cluster_event_cluster_id_cluster"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_cluster_event")),
    )
    op.create_index("ix_cluster_event_newest", "cluster_event", ["cluster_id", "at"])
