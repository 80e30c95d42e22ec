"""The server itself, people, projects, tokens, sessions and the audit log."""

from __future__ import annotations

from sqlalchemy import JSON, BigInteger, Boolean, Column, ForeignKey, Integer, LargeBinary, String, Table, Text, text

from millpond.db.tables.base import BigId, id_column, metadata, ref_column, time_column

# One row: who this database is, which secret signs URLs and sessions, which lake it belongs to.
server = Table(
    "server",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("database_id", String(32), nullable=False),
    Column("lake_id", String(32), nullable=True),
    Column("secret", LargeBinary, nullable=False),
    time_column("created_at"),
    # Who removes objects from the lake just now, and until when nobody else may.
    Column("collector", String(32), nullable=True),
    time_column("collector_until", nullable=True),
    # The owner record of the lake since which this database was compared with it; null: it never was.
    Column("epoch", BigInteger, nullable=True),
    # Counts the steps of plans that were applied: a plan made before the newest one is dropped.
    Column("plans", BigInteger, nullable=False, server_default=text("0")),
)

user = Table(
    "user_account",  # `user` is a reserved word in PostgreSQL
    metadata,
    id_column(),
    Column("name", String(63), nullable=False, unique=True),
    Column("full_name", String(200), nullable=False),
    Column("password_hash", String(200), nullable=False),
    Column("is_admin", Boolean, nullable=False),
    time_column("created_at"),
    time_column("disabled_at", nullable=True),
)

project = Table(
    "project",
    metadata,
    id_column(),
    Column("name", String(63), nullable=False, unique=True),
    Column("description", Text, nullable=False),
    time_column("created_at"),
    # Raised by everything that may keep more of the lake than before: a collection that read another one begins anew.
    Column("sequence", BigInteger, nullable=False, server_default=text("0")),
    # Quota, weight, limits (model/project_shares.py): a document.
    Column("shares", JSON, nullable=False, server_default=text("'{}'")),
)

member = Table(
    "member",
    metadata,
    Column("project_id", String(32), ForeignKey("project.id", ondelete="CASCADE"), primary_key=True),
    Column("user_id", String(32), ForeignKey("user_account.id", ondelete="CASCADE"), primary_key=True, index=True),
    Column("role", String(10), nullable=False),
)

token = Table(
    "token",
    metadata,
    id_column(),
    Column("kind", String(10), nullable=False),
    Column("name", String(200), nullable=False),
    Column("hash", LargeBinary(32), nullable=False, unique=True),
    ref_column("user_id", "user_account.id", nullable=True, cascade=True),
    ref_column("agent_id", "agent.id", nullable=True, cascade=True),
    ref_column("placement_id", "placement.id", nullable=True, cascade=True),
    time_column("created_at"),
    time_column("expires_at", nullable=True),
    time_column("last_used_at", nullable=True),
    # Whoever still uses it is told so, instead of that it is not known.
    time_column("revoked_at", nullable=True),
)

session = Table(
    "session",
    metadata,
    Column("hash", LargeBinary(32), primary_key=True),
    Column("csrf", String(64), nullable=False),
    ref_column("user_id", "user_account.id", cascade=True),
    time_column("created_at"),
    time_column("expires_at", index=True),
)

audit = Table(
    "audit",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    time_column("at", index=True),
    Column("actor", String(100), nullable=False),
    Column("action", String(63), nullable=False),
    Column("subject", String(300), nullable=False),
    Column("project_id", String(32), nullable=True, index=True),  # outlives its project
    Column("details", JSON, nullable=False),
)
