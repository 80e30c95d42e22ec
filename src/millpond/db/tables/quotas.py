"""What projects may take of what all share, and the API calls of the last minutes."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, Integer, String, Table

from millpond.db.tables.base import metadata, time_column

project_quota = Table(
    "project_quota",
    metadata,
    Column("project_id", String(32), ForeignKey("project.id", ondelete="CASCADE"), primary_key=True),
    Column("lake_bytes", BigInteger, nullable=True),
    Column("cached_bytes", BigInteger, nullable=True),
    Column("jobs", Integer, nullable=True),
    Column("calls_per_minute", Integer, nullable=True),
    Column("set_by", String(100), nullable=False),
    time_column("set_at"),
)

# By each server, in whole minutes since 1970. Rows of an hour ago are removed.
project_calls = Table(
    "project_calls",
    metadata,
    Column("project_id", String(32), ForeignKey("project.id", ondelete="CASCADE"), primary_key=True),
    Column("minute", Integer, primary_key=True, index=True),
    Column("server_id", String(32), primary_key=True),
    Column("who", String(100), primary_key=True),
    Column("calls", Integer, nullable=False),
)
