"""Saved views of lists of runs."""

from __future__ import annotations

from sqlalchemy import JSON, Column, String, Table, UniqueConstraint

from millpond.db.tables.base import id_column, metadata, ref_column, time_column

saved_view = Table(
    "saved_view",
    metadata,
    id_column(),
    ref_column("project_id", "project.id", cascade=True, index=False),
    # Empty for a shared one: names are unique among those, and among the views of each person.
    Column("owner_id", String(32), nullable=False),
    Column("name", String(100), nullable=False),
    Column("created_by", String(63), nullable=False),
    time_column("changed_at"),
    # model/saved_view.py: ViewQuery.
    Column("query", JSON, nullable=False),
    UniqueConstraint("project_id", "owner_id", "name"),
)
