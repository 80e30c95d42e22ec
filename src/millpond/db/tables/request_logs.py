"""What routers tell of requests: files of their logs, samples of their counts (docs/design/023); analyses of logs."""

from __future__ import annotations

from sqlalchemy import JSON, Column, ForeignKey, Index, Integer, String, Table, Text, UniqueConstraint

from millpond.db.tables.base import UtcTime, id_column, metadata, time_column

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

# A job over an endpoint's log: drift against a reference, or replay on a candidate (docs/design/025).
endpoint_analysis = Table(
    "endpoint_analysis",
    metadata,
    id_column(),
    Column("endpoint_id", String(32), ForeignKey("endpoint.id", ondelete="CASCADE"), nullable=False),
    Column("kind", String(20), nullable=False),
    Column("key", String(100), nullable=False),
    time_column("since"),
    time_column("until"),
    Column("created_by", String(63), nullable=False),
    time_column("created_at"),
    Column("state", String(20), nullable=False),
    # No foreign keys: jobs and runs may be purged before it.
    Column("job_id", String(32), nullable=True),
    Column("run_id", String(32), nullable=True),
    time_column("ended_at", nullable=True),
    Column("error", Text, nullable=False),
    Column("asked", JSON, nullable=False),
    Column("report", JSON, nullable=False),
    Column("alerts", JSON, nullable=False),
    UniqueConstraint("endpoint_id", "kind", "key"),
    Index("ix_endpoint_analysis_newest", "endpoint_id", "kind", "created_at"),
)
