"""Replicas of the lake, and what each of them holds.

What is removed from the lake goes from here with the row that knew of it: should it come again, it is copied again.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, ForeignKeyConstraint, LargeBinary, String, Table, Text

from millpond.db.tables.base import Bytes, id_column, metadata, time_column


def _of_replica() -> Column[str]:
    return Column("replica_id", String(32), ForeignKey("lake_replica.id", ondelete="CASCADE"), primary_key=True)


lake_replica = Table(
    "lake_replica",
    metadata,
    id_column(),
    Column("name", String(63), nullable=False, unique=True),
    Column("url", Text, nullable=False),
    Column("endpoint", Text, nullable=True),
    Column("region", String(63), nullable=False),
    # Sealed with a key that is not in the database; null: those of the lake.
    Column("credentials", LargeBinary, nullable=True),
    time_column("created_at"),
    Column("created_by", String(63), nullable=False),
    # The server that works on it just now, and until when nobody else may.
    Column("worker", String(32), nullable=True),
    time_column("worker_until", nullable=True),
    # When it last held everything, and when what the lake no longer has was last removed.
    time_column("synced_at", nullable=True),
    time_column("cleaned_at", nullable=True),
    # Why the last round failed, and when.
    Column("problem", Text, nullable=True),
    time_column("failed_at", nullable=True),
)

# The sites that read from it.
lake_replica_site = Table(
    "lake_replica_site",
    metadata,
    _of_replica(),
    Column("site_id", String(32), ForeignKey("site.id", ondelete="CASCADE"), primary_key=True),
)

lake_replica_pack = Table(
    "lake_replica_pack",
    metadata,
    Column("pack_id", String(32), ForeignKey("pack.id", ondelete="CASCADE"), primary_key=True),
    _of_replica(),
    sqlite_with_rowid=False,
)

# Leaves with their locators.
lake_replica_page = Table(
    "lake_replica_page",
    metadata,
    Column("project_id", String(32), primary_key=True),
    Column("page_id", Bytes(32), primary_key=True),
    _of_replica(),
    ForeignKeyConstraint(["project_id", "page_id"], ["page.project_id", "page.id"], ondelete="CASCADE"),
    sqlite_with_rowid=False,
)

# Commits that it holds entirely.
lake_replica_commit = Table(
    "lake_replica_commit",
    metadata,
    Column("commit_id", String(64), ForeignKey("commit_.id", ondelete="CASCADE"), primary_key=True),
    _of_replica(),
    time_column("copied_at"),
)

# How far the records of each dataset were copied.
lake_replica_dataset = Table(
    "lake_replica_dataset",
    metadata,
    Column("dataset_id", String(32), ForeignKey("dataset.id", ondelete="CASCADE"), primary_key=True),
    _of_replica(),
    Column("next_record", BigInteger, nullable=False),
    Column("last_key", String(512), nullable=False),
)
