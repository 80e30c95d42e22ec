"""Hyperparameter searches and their trials (docs/design/018)."""

from __future__ import annotations

from sqlalchemy import JSON, Boolean, Column, ForeignKey, Index, Integer, String, Table, Text, text

from millpond.db.tables.base import id_column, metadata, ref_column, time_column

search = Table(
    "search",
    metadata,
    id_column(),
    ref_column("project_id", "project.id", cascade=True, index=False),
    Column("name", String(63), nullable=False),
    Column("created_by", String(63), nullable=False),
    # No foreign key: a user who was deleted leaves searches behind, which then pause.
    Column("user_id", String(32), nullable=False),
    time_column("created_at"),
    # What was asked (model/search.py: SearchSpec).
    Column("spec", JSON, nullable=False),
    Column("state", String(20), nullable=False),
    Column("reasons", JSON, nullable=False),
    # Numbers of trials.
    Column("best", JSON, nullable=False),
    time_column("ended_at", nullable=True),
    # The loop looks at those alone.
    Column("is_open", Boolean, nullable=False),
    Column("revision", Integer, nullable=False),
    Index("ix_search_project_id_created_at", "project_id", "created_at", "id"),
    Index("ix_search_open", "id", sqlite_where=text("is_open"), postgresql_where=text("is_open")),
)

trial = Table(
    "trial",
    metadata,
    Column("search_id", String(32), ForeignKey("search.id", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("params", JSON, nullable=False),
    time_column("created_at"),
    Column("state", String(20), nullable=False),
    # No foreign keys: a job and its run may be purged before the search.
    Column("job_id", String(32), nullable=True, index=True),
    Column("run_id", String(32), nullable=True),
    # "values" is a word of SQL.
    Column("value_list", JSON, nullable=False),
    Column("rungs", JSON, nullable=False),
    Column("problem", Text, nullable=True),
    time_column("ended_at", nullable=True),
    Column("is_settled", Boolean, nullable=False),
)
