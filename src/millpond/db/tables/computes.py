"""Join tokens, with which agents come in, and tests of computes."""

from __future__ import annotations

from sqlalchemy import JSON, Column, ForeignKey, LargeBinary, String, Table

from millpond.db.tables.base import id_column, metadata, ref_column, time_column

# Opens one thing, once: an agent at this site.
join_token = Table(
    "join_token",
    metadata,
    id_column(),
    Column("hash", LargeBinary(32), nullable=False, unique=True),
    ref_column("site_id", "site.id", cascade=True),
    Column("created_by", String(63), nullable=False),
    time_column("created_at"),
    time_column("expires_at"),
    time_column("used_at", nullable=True),
    # The agent that came in with it. No foreign key: it outlives that agent.
    Column("agent_id", String(32), nullable=True),
)

compute_test = Table(
    "compute_test",
    metadata,
    id_column(),
    Column("agent_id", String(32), ForeignKey("agent.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("created_by", String(63), nullable=False),
    time_column("created_at"),
    time_column("ended_at", nullable=True),
    # What was found, as the agent told it; null until then.
    Column("checks", JSON, nullable=True),
)
