"""Join tokens, with which agents come in; tests of computes; which projects are let onto a shared account."""

from __future__ import annotations

from sqlalchemy import JSON, Column, ForeignKey, LargeBinary, String, Table, Text

from millpond.db.tables.base import BigId, id_column, metadata, ref_column, time_column

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

# Streams to jobs that one of several servers waits for: the agent may be talking to another one.
tunnel = Table(
    "tunnel",
    metadata,
    id_column(),
    ref_column("agent_id", "agent.id", cascade=True),
    Column("server", Text, nullable=False),
    Column("wanted", JSON, nullable=False),
    time_column("expires_at"),
)

# The number of a project, from which agents make the account that its jobs run under. It outlives the project: a number
# that was in use never comes to another.
account = Table(
    "account",
    metadata,
    Column("number", BigId, primary_key=True, autoincrement=True),
    Column("project_id", String(32), nullable=False, unique=True),
)

# Projects that an administrator lets onto a compute where all jobs share one account.
trust = Table(
    "trust",
    metadata,
    Column("agent_id", String(32), ForeignKey("agent.id", ondelete="CASCADE"), primary_key=True),
    Column("project_id", String(32), ForeignKey("project.id", ondelete="CASCADE"), primary_key=True, index=True),
)
