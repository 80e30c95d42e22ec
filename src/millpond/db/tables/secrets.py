"""Secrets that projects give their jobs."""

from __future__ import annotations

from sqlalchemy import Column, LargeBinary, String, Table, UniqueConstraint

from millpond.db.tables.base import id_column, metadata, ref_column, time_column

secret = Table(
    "secret",
    metadata,
    id_column(),
    ref_column("project_id", "project.id", cascade=True, index=False),
    Column("name", String(63), nullable=False),
    # Sealed with a key that is not in the database.
    Column("value", LargeBinary, nullable=False),
    time_column("created_at"),
    Column("created_by", String(63), nullable=False),
    time_column("changed_at"),
    Column("changed_by", String(63), nullable=False),
    UniqueConstraint("project_id", "name"),
)
