"""Connections to places outside the lake, and what is imported from them."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Integer,
    LargeBinary,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from millpond.db.tables.base import id_column, metadata, ref_column, time_column

connection = Table(
    "connection",
    metadata,
    id_column(),
    ref_column("project_id", "project.id", cascade=True, index=False),
    Column("name", String(63), nullable=False),
    Column("root", Text, nullable=False),
    Column("endpoint", Text, nullable=True),
    Column("region", String(63), nullable=False),
    # Sealed with a key that is not in the database.
    Column("credentials", LargeBinary, nullable=True),
    time_column("created_at"),
    Column("created_by", String(63), nullable=False),
    # Members may also put objects there, by moves and mirrors.
    Column("writable", Boolean, nullable=False, server_default=text("false")),
    UniqueConstraint("project_id", "name"),
)

source = Table(
    "source",
    metadata,
    id_column(),
    ref_column("project_id", "project.id", cascade=True, index=False),
    Column("name", String(63), nullable=False),
    ref_column("dataset_id", "dataset.id", cascade=True),
    ref_column("connection_id", "connection.id"),
    # In whose name it commits: a source whose user has lost the role, or is gone, does nothing.
    Column("user_id", String(32), ForeignKey("user_account.id", ondelete="SET NULL"), nullable=True, index=True),
    Column("uri", Text, nullable=False),
    Column("listing", Boolean, nullable=False),
    Column("path", LargeBinary, nullable=False),
    Column("branch", String(127), nullable=False),
    Column("copies", Boolean, nullable=False),
    Column("every_seconds", Integer, nullable=False),
    time_column("created_at"),
    time_column("paused_at", nullable=True),
    time_column("next_at", index=True),
    # The server that runs it just now, and until when nobody else may.
    Column("runner", String(32), nullable=True),
    time_column("runner_until", nullable=True),
    time_column("started_at", nullable=True),
    time_column("ended_at", nullable=True),
    # What the last run did, and why the last one failed; how many failed since one succeeded.
    Column("result", JSON, nullable=True),
    Column("problem", Text, nullable=True),
    Column("failures", Integer, nullable=False),
    UniqueConstraint("project_id", "name"),
)

# What a source has put into its dataset: objects that are still so are not looked at again.
source_object = Table(
    "source_object",
    metadata,
    Column("source_id", String(32), ForeignKey("source.id", ondelete="CASCADE"), primary_key=True),
    Column("path", LargeBinary, primary_key=True),
    Column("etag", Text, nullable=True),
    Column("size", BigInteger, nullable=False),
    # Of the entry that stands for it.
    Column("digest", LargeBinary(32), nullable=False),
    sqlite_with_rowid=False,
)
