"""The server itself, people, projects, tokens, sessions and the audit log."""

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

from millpond.db.tables.audit_guard import guard
from millpond.db.tables.base import BigId, id_column, metadata, ref_column, time_column

# One row: who this database is, which secret signs URLs and sessions, which lake it belongs to.
server = Table(
    "server",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("database_id", String(32), nullable=False),
    Column("lake_id", String(32), nullable=True),
    # What servers of 0.2 sign with. Once `secret_hidden`, chance; the real one is `sealed_secret`.
    Column("secret", LargeBinary, nullable=False),
    time_column("created_at"),
    # Who removes objects from the lake just now, and until when nobody else may.
    Column("collector", String(32), nullable=True),
    time_column("collector_until", nullable=True),
    # The owner record of the lake since which this database was compared with it; null: it never was.
    Column("epoch", BigInteger, nullable=True),
    # Counts the steps of plans that were applied: a plan made before the newest one is dropped.
    Column("plans", BigInteger, nullable=False, server_default=text("0")),
    Column("sealed_secret", LargeBinary, nullable=True),
    time_column("sealed_at", nullable=True),
    Column("secret_hidden", Boolean, nullable=False, server_default=text("false")),
    # False: nobody signs in with a password kept here.
    Column("local_login", Boolean, nullable=False, server_default=text("true")),
    # The revision that a program must know to use this database; null: FIRST_SHARED of `migrate`.
    Column("usable_from", String(10), nullable=True),
    # How long audit entries are kept; null: for ever.
    Column("audit_keep_seconds", BigInteger, nullable=True),
    # Set by the retention rule while it removes those that are older: the database refuses to delete any other.
    time_column("audit_remove_before", nullable=True),
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
    Column("email", String(320), nullable=True),
    Column("is_service", Boolean, nullable=False, server_default=text("false")),
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
    # Words with spaces between them; null: everything its owner may do.
    Column("scopes", String(100), nullable=True),
)

session = Table(
    "session",
    metadata,
    Column("hash", LargeBinary(32), primary_key=True),
    Column("csrf", String(64), nullable=False),
    ref_column("user_id", "user_account.id", cascade=True),
    time_column("created_at"),
    time_column("expires_at", index=True),
    Column("address", String(64), nullable=True),
    Column("user_agent", String(300), nullable=True),
    time_column("last_used_at", nullable=True),
    # Of single sign-on: the provider, its name of the session, and where its session is ended (sealed).
    Column("provider_id", String(32), nullable=True),
    Column("provider_session", String(255), nullable=True),
    Column("sign_out", LargeBinary, nullable=True),
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
    # Where from: the address, what the caller showed (`session ID`, `token ID NAME`), and the id of the request.
    Column("address", String(64), nullable=True),
    Column("via", String(300), nullable=True),
    Column("request", String(64), nullable=True),
    # Of a change: the values that differ, as they were and as they are.
    Column("before", JSON, nullable=True),
    Column("after", JSON, nullable=True),
    Index("ix_audit_actor_id", "actor", "id"),
    Index("ix_audit_action_id", "action", "id"),
    Index("ix_audit_subject_id", "subject", "id"),
    Index("ix_audit_address_id", "address", "id"),
)
guard(audit)

# Up to which entry a receiver of the audit log was sent everything; by the digest of its address.
audit_forward = Table(
    "audit_forward",
    metadata,
    Column("target", String(64), primary_key=True),
    Column("sent_id", BigInteger, nullable=False),
    time_column("sent_at", nullable=True),
    # Since when it cannot be reached, and why.
    time_column("failing_since", nullable=True),
    Column("problem", String(300), nullable=True),
)
