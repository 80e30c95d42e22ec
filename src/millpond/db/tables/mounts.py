"""Directories that jobs may mount."""

from __future__ import annotations

from sqlalchemy import JSON, Boolean, Column, ForeignKey, String, Table

from millpond.db.tables.base import id_column, metadata, time_column

mount = Table(
    "mount",
    metadata,
    id_column(),
    Column("name", String(63), nullable=False, unique=True),
    Column("path", String(1000), nullable=False),
    # Null: it exists at every site.
    Column("site_id", String(32), ForeignKey("site.id"), nullable=True),
    Column("read_only", Boolean, nullable=False),
    Column("all_projects", Boolean, nullable=False),
    # Ids of the projects that may use it.
    Column("project_ids", JSON, nullable=False),
    time_column("created_at"),
    Column("created_by", String(63), nullable=False),
    time_column("changed_at"),
    Column("changed_by", String(63), nullable=False),
)
