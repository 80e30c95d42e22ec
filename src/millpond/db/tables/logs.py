"""Where the bytes of logs lie: one row for each compressed chunk in the store."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, Integer, String, Table, text

from millpond.db.tables.base import metadata

log_chunk = Table(
    "log_chunk",
    metadata,
    Column("placement_id", String(32), ForeignKey("placement.id", ondelete="CASCADE"), primary_key=True),
    # Of a distributed job every process has a log.
    Column("rank", Integer, primary_key=True, autoincrement=False, server_default=text("0")),
    # Offsets in the log: of its first byte, and of the one behind its last. What no chunk covers was left out.
    Column("begin", BigInteger, primary_key=True, autoincrement=False),
    Column("end", BigInteger, nullable=False),
    # Newlines before this chunk, and in it.
    Column("lines_before", BigInteger, nullable=False),
    Column("lines", BigInteger, nullable=False),
    Column("stored_bytes", BigInteger, nullable=False),
)
