"""Replicas of the lake, and what each of them holds."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0046"
down_revision = "0045"


def upgrade() -> None:
    op.create_table(
        "lake_replica",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("name", sa.String(63), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("endpoint", sa.Text(), nullable=True),
        sa.Column("region", sa.String(63), nullable=False),
        sa.Column("credentials", sa.LargeBinary(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_by", sa.String(63), nullable=False),
        sa.Column("worker", sa.String(32), nullable=True),
        sa.Column("worker_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("synced_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("cleaned_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("problem", sa.Text(), nullable=True),
        sa.Column("failed_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_lake_replica"),
        sa.UniqueConstraint("name", name="uq_lake_replica_name"),
    )
    op.create_table(
        "lake_replica_site",
        _of_replica(),
        sa.Column("site_id", sa.String(32), nullable=False),
        _to_replica("lake_replica_site"),
        sa.ForeignKeyConstraint(["site_id"], ["site.id"], name="fk_lake_replica_site_site_id_site", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("replica_id", "site_id", name="pk_lake_replica_site"),
    )
    op.create_table(
        "lake_replica_pack",
        sa.Column("pack_id", sa.String(32), nullable=False),
        _of_replica(),
        _to_replica("lake_replica_pack"),
        sa.ForeignKeyConstraint(["pack_id"], ["pack.id"], name="fk_lake_replica_pack_pack_id_pack", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("pack_id", "replica_id", name="pk_lake_replica_pack"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "lake_replica_page",
        sa.Column("project_id", sa.String(32), nullable=False),
        sa.Column("page_id", sa.LargeBinary(32), nullable=False),
        _of_replica(),
        _to_replica("lake_replica_page"),
        sa.ForeignKeyConstraint(
            ["project_id", "page_id"],
            ["page.project_id", "page.id"],
            name="fk_lake_replica_page_project_id_page",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("project_id", "page_id", "replica_id", name="pk_lake_replica_page"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "lake_replica_commit",
        sa.Column("commit_id", sa.String(64), nullable=False),
        _of_replica(),
        sa.Column("copied_at", sa.DateTime(timezone=True), nullable=False),
        _to_replica("lake_replica_commit"),
        sa.ForeignKeyConstraint(
            ["commit_id"], ["commit_.id"], name="fk_lake_replica_commit_commit_id_commit_", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("commit_id", "replica_id", name="pk_lake_replica_commit"),
    )
    op.create_table(
        "lake_replica_dataset",
        sa.Column("dataset_id", sa.String(32), nullable=False),
        _of_replica(),
        sa.Column("next_record", sa.BigInteger(), nullable=False),
        sa.Column("last_key", sa.String(512), nullable=False),
        _to_replica("lake_replica_dataset"),
        sa.ForeignKeyConstraint(
            ["dataset_id"], ["dataset.id"], name="fk_lake_replica_dataset_dataset_id_dataset", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("dataset_id", "replica_id", name="pk_lake_replica_dataset"),
    )


def _of_replica() -> sa.Column[str]:
    return sa.Column("replica_id", sa.String(32), nullable=False)


def _to_replica(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["replica_id"], ["lake_replica.id"], name=f"fk_{table}_replica_id_lake_replica", ondelete="CASCADE"
    )
