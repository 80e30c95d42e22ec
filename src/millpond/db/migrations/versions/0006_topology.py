"""Links, measured bandwidth, who sees which volume, and the use of volumes over time."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    create_link()
    create_bandwidth()
    create_volume_sight()
    create_cache_use()
    create_volume_sample()
    create_fill_rate()


def create_link() -> None:
    op.create_table(
        "link",
        sa.Column("a_id", sa.String(length=32), nullable=False),
        sa.Column("b_id", sa.String(length=32), nullable=False),
        sa.Column("bits_per_second", sa.BigInteger(), nullable=True),
        sa.Column("latency_ms", sa.Double(), nullable=True),
        sa.Column("price_per_gb", sa.Double(), nullable=True),
        sa.Column("set_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("a_id", "b_id", name=op.f("pk_link")),
    )


def create_bandwidth() -> None:
    op.create_table(
        "bandwidth",
        sa.Column("volume_id", sa.String(length=32), nullable=False),
        sa.Column("source_id", sa.String(length=32), nullable=False),
        sa.Column("bytes_per_second", sa.Double(), nullable=False),
        sa.Column("fills", sa.Integer(), nullable=False),
        sa.Column("measured_at", sa.DateTime(timezone=True), nullable=False),
        references("bandwidth", "volume"),
        sa.PrimaryKeyConstraint("volume_id", "source_id", name=op.f("pk_bandwidth")),
    )


def create_volume_sight() -> None:
    op.create_table(
        "volume_sight",
        sa.Column("agent_id", sa.String(length=32), nullable=False),
        sa.Column("volume_id", sa.String(length=32), nullable=False),
        sa.Column("problem", sa.Text(), nullable=True),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        references("volume_sight", "agent"),
        references("volume_sight", "volume"),
        sa.PrimaryKeyConstraint("agent_id", "volume_id", name=op.f("pk_volume_sight")),
    )


def create_cache_use() -> None:
    op.create_table(
        "cache_use",
        sa.Column("volume_id", sa.String(length=32), nullable=False),
        sa.Column("project_id", sa.String(length=32), nullable=False),
        sa.Column("hour", sa.DateTime(timezone=True), nullable=False),
        *counts("hits", "misses", "saved_bytes"),
        sa.Column("saved_seconds", sa.Double(), nullable=False),
        *counts("fills", "filled_bytes"),
        sa.Column("fill_seconds", sa.Double(), nullable=False),
        references("cache_use", "volume"),
        references("cache_use", "project"),
        sa.PrimaryKeyConstraint("volume_id", "project_id", "hour", name=op.f("pk_cache_use")),
    )


def create_volume_sample() -> None:
    op.create_table(
        "volume_sample",
        sa.Column("volume_id", sa.String(length=32), nullable=False),
        sa.Column("step_seconds", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        *counts("capacity_bytes", "used_bytes", "reserved_bytes", "free_bytes", "foreign_bytes"),
        references("volume_sample", "volume"),
        sa.PrimaryKeyConstraint("volume_id", "step_seconds", "at", name=op.f("pk_volume_sample")),
    )


def create_fill_rate() -> None:
    op.create_table(
        "fill_rate",
        sa.Column("cached_id", sa.String(length=32), nullable=False),
        sa.Column("source_id", sa.String(length=32), nullable=False),
        sa.Column("fetched_bytes", sa.BigInteger(), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(
            ["cached_id"], ["cached_commit.id"], name=op.f("fk_fill_rate_cached_id_cached_commit"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("cached_id", name=op.f("pk_fill_rate")),
    )


def counts(*names: str) -> Sequence[sa.Column[int]]:
    return [sa.Column(name, sa.BigInteger(), nullable=False) for name in names]


def references(table: str, noun: str) -> sa.ForeignKeyConstraint:
    name = op.f(f"fk_{table}_{noun}_id_{noun}")
    return sa.ForeignKeyConstraint([f"{noun}_id"], [f"{noun}.id"], name=name, ondelete="CASCADE")
