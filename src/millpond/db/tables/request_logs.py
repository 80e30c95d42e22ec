"""What routers tell of requests: files of their logs, and samples of their counts (docs/design/023)."""

from __future__ import annotations

from sqlalchemy import JSON, Column, ForeignKey, Integer, String, Table

from millpond.db.tables.base import UtcTime, metadata, time_column

# One row for an endpoint's part of a file; its content lies in the lake's store until it is committed. The row stays a
# while longer: a file that is sent again is known by it.
request_log = Table(
    "request_log",
    metadata,
    Column("endpoint_id", String(32), ForeignKey("endpoint.id", ondelete="CASCADE"), primary_key=True),
    Column("digest", String(64), primary_key=True),
    Column("rows", Integer, nullable=False),
    Column("bytes", Integer, nullable=False),
    time_column("received_at"),
    time_column("committed_at", nullable=True),
    Column("commit_id", String(64), nullable=True),
)

# What a router, known by its placement, had counted at a moment: the endpoint's part of its `stats.json`.
endpoint_sample = Table(
    "endpoint_sample",
    metadata,
    Column("endpoint_id", String(32), ForeignKey("endpoint.id", ondelete="CASCADE"), primary_key=True),
    Column("placement_id", String(32), primary_key=True),
    Column("at", UtcTime, primary_key=True),
    Column("stats", JSON, nullable=False),
)
