"""What the cache at full strength needs: shares, limits, policies, tiers, holds, verifications, causes."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    extend_volume()
    extend_cached_commit()
    op.add_column("dataset", sa.Column("cache_idle_seconds", sa.BigInteger(), nullable=True))
    op.add_column("lease", sa.Column("kind", sa.String(length=10), nullable=False, server_default=sa.text("'job'")))
    op.add_column("lease", sa.Column("reason", sa.Text(), nullable=False, server_default=sa.text("''")))
    op.execute("UPDATE lease SET kind = 'hold' WHERE job_id IS NULL")
    op.add_column("eviction", sa.Column("cause", sa.String(length=10), nullable=False, server_default=sa.text("''")))
    op.add_column("eviction", sa.Column("by", sa.String(length=63), nullable=True))
    op.add_column("page", sa.Column("inodes", sa.BigInteger(), nullable=True))
    op.add_column("page", sa.Column("directory_bytes", sa.BigInteger(), nullable=True))
    create_volume_limit()
    create_volume_share()
    create_refusal()
    create_policy()
    create_tree_difference()


def extend_volume() -> None:
    op.add_column("volume", sa.Column("filler_id", sa.String(length=32), nullable=True))
    op.add_column("volume", sa.Column("features", sa.JSON(), nullable=True))
    op.add_column(
        "volume", sa.Column("tier", sa.String(length=63), nullable=False, server_default=sa.text("'standard'"))
    )
    for number in ("tier_throughput", "tier_price"):
        op.add_column("volume", sa.Column(number, sa.Double(), nullable=False, server_default=sa.text("1.0")))
    for measured in ("disk_total_bytes", "inodes_total", "inodes_free"):
        op.add_column("volume", sa.Column(measured, sa.BigInteger(), nullable=True))


def extend_cached_commit() -> None:
    op.add_column("cached_commit", sa.Column("base_id", sa.String(length=32), nullable=True))
    op.add_column(
        "cached_commit", sa.Column("reserved_inodes", sa.BigInteger(), nullable=False, server_default=sa.text("0"))
    )
    op.add_column("cached_commit", sa.Column("fetch_bytes", sa.BigInteger(), nullable=True))
    op.add_column("cached_commit", sa.Column("fetch_files", sa.BigInteger(), nullable=True))
    op.add_column("cached_commit", sa.Column("pinned_by", sa.String(length=63), nullable=True))
    op.add_column("cached_commit", sa.Column("pinned_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("cached_commit", sa.Column("verify", sa.BigInteger(), nullable=False, server_default=sa.text("0")))
    op.add_column("cached_commit", sa.Column("verification", sa.JSON(), nullable=True))
    op.add_column("cached_commit", sa.Column("cause", sa.String(length=10), nullable=True))
    op.add_column("cached_commit", sa.Column("cleared_by", sa.String(length=63), nullable=True))


def create_volume_limit() -> None:
    op.create_table(
        "volume_limit",
        sa.Column("volume_id", sa.String(length=32), nullable=False),
        sa.Column("project_id", sa.String(length=32), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["volume_id"], ["volume.id"], name=op.f("fk_volume_limit_volume_id_volume"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_volume_limit_project_id_project"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("volume_id", "project_id", name=op.f("pk_volume_limit")),
    )


def create_volume_share() -> None:
    op.create_table(
        "volume_share",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("volume_id", sa.String(length=32), nullable=False),
        sa.Column("project_id", sa.String(length=32), nullable=False),
        sa.Column("members", sa.JSON(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("inodes", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["volume_id"], ["volume.id"], name=op.f("fk_volume_share_volume_id_volume"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_volume_share_project_id_project"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_volume_share")),
    )
    for column in ("project_id", "volume_id"):
        op.create_index(op.f(f"ix_volume_share_{column}"), "volume_share", [column], unique=False)


def create_refusal() -> None:
    op.create_table(
        "cache_refusal",
        sa.Column("volume_id", sa.String(length=32), nullable=False),
        sa.Column("commit_id", sa.String(length=64), nullable=False),
        sa.Column("project_id", sa.String(length=32), nullable=False),
        sa.Column("by", sa.String(length=63), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["volume_id"], ["volume.id"], name=op.f("fk_cache_refusal_volume_id_volume"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_cache_refusal_project_id_project"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("volume_id", "commit_id", name=op.f("pk_cache_refusal")),
    )
    op.create_index(op.f("ix_cache_refusal_project_id"), "cache_refusal", ["project_id"], unique=False)


def create_policy() -> None:
    op.create_table(
        "cache_policy",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("volume_id", sa.String(length=32), nullable=False),
        sa.Column("dataset_id", sa.String(length=32), nullable=False),
        sa.Column("branch", sa.String(length=127), nullable=False),
        sa.Column("created_by", sa.String(length=63), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("commit_id", sa.String(length=64), nullable=True),
        sa.Column("problem", sa.Text(), nullable=True),
        sa.Column("tried_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["volume_id"], ["volume.id"], name=op.f("fk_cache_policy_volume_id_volume"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["dataset_id"], ["dataset.id"], name=op.f("fk_cache_policy_dataset_id_dataset"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_cache_policy")),
        sa.UniqueConstraint(
            "volume_id", "dataset_id", "branch", name=op.f("uq_cache_policy_volume_id_dataset_id_branch")
        ),
    )
    for column in ("dataset_id", "volume_id"):
        op.create_index(op.f(f"ix_cache_policy_{column}"), "cache_policy", [column], unique=False)


def create_tree_difference() -> None:
    op.create_table(
        "tree_difference",
        sa.Column("project_id", sa.String(length=32), nullable=False),
        sa.Column("base", sa.String(length=64), nullable=False),
        sa.Column("tree", sa.String(length=64), nullable=False),
        sa.Column("allocated", sa.BigInteger(), nullable=False),
        sa.Column("inodes", sa.BigInteger(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("files", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_tree_difference_project_id_project"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("project_id", "base", "tree", name=op.f("pk_tree_difference")),
    )
    op.create_index(op.f("ix_tree_difference_at"), "tree_difference", ["at"], unique=False)
