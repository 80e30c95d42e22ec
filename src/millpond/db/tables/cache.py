"""Sites, volumes, the commits cached there and who holds them."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Integer, String, Table, Text, UniqueConstraint

from millpond.db.tables.base import id_column, metadata, ref_column, time_column

site = Table(
    "site",
    metadata,
    id_column(),
    Column("name", String(63), nullable=False, unique=True),
    time_column("created_at"),
)

volume = Table(
    "volume",
    metadata,
    id_column(),
    Column("name", String(63), nullable=False, unique=True),
    ref_column("site_id", "site.id"),
    Column("path", Text, nullable=False),
    Column("capacity_bytes", BigInteger, nullable=False),
    Column("reserve_bytes", BigInteger, nullable=False),
    Column("idle_seconds", BigInteger, nullable=False),
    Column("high_percent", Integer, nullable=False),
    Column("low_percent", Integer, nullable=False),
    time_column("created_at"),
    Column("disk_free_bytes", BigInteger, nullable=True),
    Column("problem", Text, nullable=True),
    time_column("seen_at", nullable=True),
    # The next attempt number of a fill or eviction on this volume.
    Column("next_attempt", BigInteger, nullable=False),
    UniqueConstraint("site_id", "path"),
)

cached = Table(
    "cached_commit",
    metadata,
    id_column(),
    ref_column("volume_id", "volume.id"),
    ref_column("project_id", "project.id"),
    ref_column("dataset_id", "dataset.id"),
    Column("commit_id", String(64), ForeignKey("commit_.id"), nullable=False),
    Column("state", String(10), nullable=False),
    Column("attempt", BigInteger, nullable=False),
    Column("reserved_bytes", BigInteger, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("files", BigInteger, nullable=False),
    Column("done_bytes", BigInteger, nullable=False),
    Column("done_files", BigInteger, nullable=False),
    Column("requested_by", String(63), nullable=False),
    time_column("requested_at"),
    time_column("ready_at", nullable=True),
    time_column("used_at"),
    Column("idle_seconds", BigInteger, nullable=True),
    Column("pinned", Boolean, nullable=False),
    Column("reason", Text, nullable=False),
    Column("problem", Text, nullable=True),
    # Once and only once: one row per commit and volume, whoever asks.
    UniqueConstraint("volume_id", "commit_id"),
)

lease = Table(
    "lease",
    metadata,
    id_column(),
    ref_column("cached_id", "cached_commit.id", cascade=True),
    ref_column("job_id", "job.id", nullable=True, cascade=True),
    ref_column("user_id", "user_account.id", nullable=True, cascade=True),
    time_column("created_at"),
    time_column("expires_at", nullable=True),
)

eviction = Table(
    "eviction",
    metadata,
    id_column(),
    ref_column("volume_id", "volume.id", cascade=True),
    ref_column("project_id", "project.id", cascade=True),
    Column("dataset_id", String(32), nullable=False),
    Column("commit_id", String(64), nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("reason", Text, nullable=False),
    time_column("at", index=True),
)
