"""Runs: narrow rows, with parameters, tags, metrics and documents beside them (docs/design/016)."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from millpond.db.tables.base import BigId, Bytes, id_column, metadata, ref_column, time_column

run = Table(
    "run",
    metadata,
    id_column(),
    ref_column("project_id", "project.id"),
    Column("experiment", String(200), nullable=False),
    Column("name", String(200), nullable=False),
    Column("job_id", String(32), nullable=True, index=True),
    Column("state", String(20), nullable=False),
    Column("created_by", String(63), nullable=False),
    time_column("started_at", index=True),
    time_column("ended_at", nullable=True),
    time_column("seen_at"),
    time_column("deleted_at", nullable=True),
    # No foreign key: the parent may be purged first.
    Column("parent_id", String(32), nullable=True, index=True),
    # Batches of points that are not folded into chunks yet.
    Column("unfolded", Integer, nullable=False, server_default=text("0")),
    # All that `mill find` looks at.
    Index("ix_run_search", "project_id", "name", "deleted_at", "started_at", "id"),
    # Lists are read from their newest end, however long they have grown.
    Index("ix_run_project_id_started_at", "project_id", "started_at", "id"),
    Index("ix_run_project_id_experiment_started_at", "project_id", "experiment", "started_at", "id"),
)  # fmt: skip

# Numbers are what MLflow's clients call experiments by; 0 there stands for the project's `default`.
experiment = Table(
    "experiment",
    metadata,
    Column("number", BigId, primary_key=True, autoincrement=True),
    ref_column("project_id", "project.id", cascade=True, index=False),
    Column("name", String(200), nullable=False),
    Column("tags", JSON, nullable=False, server_default=text("'{}'")),
    time_column("created_at"),
    time_column("changed_at"),
    time_column("deleted_at", nullable=True),
    UniqueConstraint("project_id", "name"),
)

# What only the details of a run show (model/run.py: RunRecord).
run_record = Table(
    "run_record",
    metadata,
    Column("run_id", String(32), ForeignKey("run.id", ondelete="CASCADE"), primary_key=True),
    Column("document", JSON, nullable=False),
)

run_param = Table(
    "run_param",
    metadata,
    Column("run_id", String(32), ForeignKey("run.id", ondelete="CASCADE"), primary_key=True),
    Column("key", String(250), primary_key=True),
    Column("project_id", String(32), nullable=False),
    Column("text", Text, nullable=False),
    # Null if the value is the text itself.
    Column("json", Text, nullable=True),
    # The value, if it reads as a finite number: lists are sorted by it.
    Column("number", Double, nullable=True),
    # The first characters: an index entry of PostgreSQL cannot hold a long value.
    Column("head", String(200), nullable=False),
    # Values it had before, oldest first: [[value, until], …].
    Column("changes", JSON, nullable=True),
    Index("ix_run_param_value", "project_id", "key", "number", "head", "run_id"),
)

run_tag = Table(
    "run_tag",
    metadata,
    Column("run_id", String(32), ForeignKey("run.id", ondelete="CASCADE"), primary_key=True),
    Column("key", String(250), primary_key=True),
    Column("project_id", String(32), nullable=False),
    Column("text", Text, nullable=False),
    Column("head", String(200), nullable=False),
    Index("ix_run_tag_value", "project_id", "key", "head", "run_id"),
)

# How far each client's batches have been taken: a batch sent twice counts once.
run_writer = Table(
    "run_writer",
    metadata,
    Column("run_id", String(32), ForeignKey("run.id", ondelete="CASCADE"), primary_key=True),
    Column("writer", String(64), primary_key=True),
    Column("sequence", BigInteger, nullable=False),
)

# A row for each run and key: what lists show, filter and sort by without reading points.
metric = Table(
    "metric",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    ref_column("run_id", "run.id", cascade=True, index=False),
    Column("key", String(250), nullable=False),
    # Null stands for NaN, which SQLite cannot store.
    Column("last", Double, nullable=True),
    Column("last_step", BigInteger, nullable=False),
    Column("points", BigInteger, nullable=False),
    Column("project_id", String(32), nullable=False, server_default=text("''")),
    # Milliseconds since 1970.
    Column("last_at", BigInteger, nullable=False, server_default=text("0")),
    Column("least", Double, nullable=True),
    Column("least_step", BigInteger, nullable=True),
    Column("greatest", Double, nullable=True),
    Column("greatest_step", BigInteger, nullable=True),
    UniqueConstraint("run_id", "key"),
    Index("ix_metric_last", "project_id", "key", "last", "run_id"),
    Index("ix_metric_least", "project_id", "key", "least", "run_id"),
    Index("ix_metric_greatest", "project_id", "key", "greatest", "run_id"),
)

# The points of one request, in the order they came, until they are folded into chunks.
metric_batch = Table(
    "metric_batch",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    ref_column("run_id", "run.id", cascade=True, index=False),
    Column("data", Bytes, nullable=False),
    Index("ix_metric_batch_run_id", "run_id", "id"),
)

metric_chunk = Table(
    "metric_chunk",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("metric_id", BigId, ForeignKey("metric.id", ondelete="CASCADE"), nullable=False),
    Column("points", Integer, nullable=False),
    Column("least_step", BigInteger, nullable=False),
    Column("greatest_step", BigInteger, nullable=False),
    Column("is_sorted", Boolean, nullable=False),
    Column("data", Bytes, nullable=False),
    Index("ix_metric_chunk_metric_id", "metric_id", "id"),
)

# As MLflow 3 records them; their files are artifacts of the run.
logged_model = Table(
    "logged_model",
    metadata,
    Column("id", String(40), primary_key=True),
    Column("project_id", String(32), nullable=False),
    Column("experiment", String(200), nullable=False),
    Column("name", String(200), nullable=False),
    Column("type", String(200), nullable=False),
    ref_column("run_id", "run.id", cascade=True),
    Column("status", String(40), nullable=False),
    Column("created_by", String(63), nullable=False),
    time_column("created_at"),
    time_column("changed_at"),
    Column("params", JSON, nullable=False),
    Column("tags", JSON, nullable=False),
    Column("metrics", JSON, nullable=False),
    time_column("deleted_at", nullable=True),
    Index("ix_logged_model_created_at", "project_id", "experiment", "created_at"),
)
