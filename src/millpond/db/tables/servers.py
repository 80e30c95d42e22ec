"""What several servers on one database tell each other: events, who is there, what must not count once per server."""

from __future__ import annotations

from sqlalchemy import JSON, Column, Integer, LargeBinary, String, Table, Text

from millpond.db.tables.base import BigId, id_column, metadata, time_column

# Numbers follow the order in which they are committed: they are given out under a lock. A few thousand are kept.
event = Table(
    "event",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    # The process that sent it, what it is (`services/events.py`), and for whom.
    Column("server", String(32), nullable=False),
    Column("kind", String(8), nullable=False),
    Column("topic", Text, nullable=False),
    Column("project_id", String(32), nullable=True),
    Column("data", JSON, nullable=False),
)

# Server processes, each while it runs; `url` is where the others reach it.
server_process = Table(
    "server_process",
    metadata,
    id_column(),
    Column("host", String(200), nullable=False),
    Column("url", Text, nullable=False),
    Column("version", String(40), nullable=False),
    # Tells whether all seal with the same key; says nothing about it.
    Column("key_mark", String(16), nullable=False),
    time_column("started_at"),
    time_column("seen_at"),
)

# Wrong passwords of the last minutes, by SHA-256 of the name and of the address.
login_failure = Table(
    "login_failure",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("key", LargeBinary(32), nullable=False, index=True),
    time_column("failed_at", index=True),
)

# Requests that were made with an `Idempotency-Key`, by a SHA-256 of it, of what was asked and of who asked. The answer
# comes when the request has been done.
request_key = Table(
    "request_key",
    metadata,
    Column("key", LargeBinary(32), primary_key=True),
    time_column("made_at", index=True),
    # The process that works on it, and where what it made can be read, whatever becomes of that process.
    Column("server", String(32), nullable=False),
    Column("location", Text, nullable=True),
    Column("status", Integer, nullable=True),
    Column("media_type", String(100), nullable=True),
    Column("body", LargeBinary, nullable=True),
)

# One-time tickets that were used, for as long as they would otherwise work.
used_ticket = Table("used_ticket", metadata, id_column(), time_column("expires_at", index=True))
