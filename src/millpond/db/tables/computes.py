"""Computes, the agents that speak for them, their nodes, join tokens, tests, and trust in shared accounts."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    String,
    Table,
    Text,
    text,
)

from millpond.db.tables.base import BigId, id_column, metadata, ref_column, time_column

_PRESENT = text("left_at IS NULL")

compute = Table(
    "compute",
    metadata,
    id_column(),
    # Unique among attached computes: a detached one gives its name back.
    Column("name", String(63), nullable=False),
    ref_column("site_id", "site.id"),
    Column("driver", String(20), nullable=False),
    # The agent that speaks for it, or did last. No foreign key: each row of `agent` refers to its compute.
    Column("agent_id", String(32), nullable=True),
    # What its driver can do; null until an agent has reported it.
    Column("capabilities", JSON, nullable=True),
    # Where jobs share one account: every project is trusted, not only those in `trust`.
    Column("trusts_all", Boolean, nullable=False, server_default=text("false")),
    time_column("created_at"),
    # No new jobs, and who said so.
    time_column("cordoned_at", nullable=True),
    Column("cordoned_by", String(63), nullable=True),
    # Gone for everybody; the row stays because placements, and through them the logs of jobs, refer to it.
    time_column("detached_at", nullable=True),
    Index("uq_compute_name_attached", "name", unique=True,
          sqlite_where=text("detached_at IS NULL"), postgresql_where=text("detached_at IS NULL")),
)  # fmt: skip

# A process with a credential of its own (`token`) that speaks for one compute. A compute outlives its agents.
agent = Table(
    "agent",
    metadata,
    id_column(),
    ref_column("compute_id", "compute.id", cascade=True),
    Column("version", String(40), nullable=False),
    time_column("created_at"),
    time_column("seen_at", nullable=True),
    # Tells the processes of one agent apart.
    Column("instance", String(64), nullable=True),
    # Its credential is refused.
    time_column("revoked_at", nullable=True),
    # The fingerprint by which agents of other sites know it, while it serves its volumes to them.
    Column("peer", String(64), nullable=True),
    # The server process that took its newest report.
    Column("heard_by", String(32), nullable=True),
)

# A node that has left keeps its row: placements name it.
node = Table(
    "node",
    metadata,
    Column("compute_id", String(32), ForeignKey("compute.id", ondelete="CASCADE"), primary_key=True),
    Column("name", String(200), primary_key=True),
    # The agent that reports it and runs its jobs; null while none does.
    ref_column("agent_id", "agent.id", nullable=True, index=False),
    Column("cpus", Integer, nullable=False),
    Column("memory_bytes", BigInteger, nullable=False),
    Column("gpus", Integer, nullable=False),
    Column("gpu_model", String(200), nullable=False),
    Column("declared", Boolean, nullable=False),
    Column("labels", JSON, nullable=False),
    time_column("added_at"),
    time_column("left_at", nullable=True),
    # Why its cluster starts nothing new there.
    Column("closed", Text, nullable=True),
    # Of each GPU; 0: unknown.
    Column("gpu_memory_bytes", BigInteger, nullable=False, server_default=text("0")),
    Index("ix_node_present", "compute_id", sqlite_where=_PRESENT, postgresql_where=_PRESENT),
)

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
    # Lets an agent in for this compute; null: for a new one.
    Column("compute_id", String(32), nullable=True),
    # It lets the agent in again that came with it, whatever became of its credential.
    Column("standing", Boolean, nullable=False, server_default=text("false")),
)

compute_test = Table(
    "compute_test",
    metadata,
    id_column(),
    ref_column("compute_id", "compute.id", cascade=True),
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
    Column("compute_id", String(32), ForeignKey("compute.id", ondelete="CASCADE"), primary_key=True),
    Column("project_id", String(32), ForeignKey("project.id", ondelete="CASCADE"), primary_key=True, index=True),
)
