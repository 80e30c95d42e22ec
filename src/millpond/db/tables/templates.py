"""Templates, and the queues made of them."""

from __future__ import annotations

from sqlalchemy import JSON, Column, String, Table

from millpond.db.tables.base import id_column, metadata, time_column

template = Table(
    "template",
    metadata,
    id_column(),
    Column("name", String(63), nullable=False, unique=True),
    # What it fills in (model/template.py: TemplateSpec).
    Column("spec", JSON, nullable=False),
    time_column("created_at"),
    Column("created_by", String(63), nullable=False),
    time_column("changed_at"),
    Column("changed_by", String(63), nullable=False),
)

queue = Table(
    "queue",
    metadata,
    id_column(),
    Column("name", String(63), nullable=False, unique=True),
    # Names and patience, in order (model/template.py: QueueEntry).
    Column("templates", JSON, nullable=False),
    Column("description", String(1000), nullable=False),
    time_column("created_at"),
    Column("created_by", String(63), nullable=False),
    time_column("changed_at"),
    Column("changed_by", String(63), nullable=False),
)
