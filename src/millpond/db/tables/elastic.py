"""Elastic computes, and the machines that were created for them."""

from __future__ import annotations

from sqlalchemy import JSON, Boolean, Column, Double, Index, Integer, String, Table, Text, text

from millpond.db.tables.base import id_column, metadata, ref_column, time_column

elastic_compute = Table(
    "elastic_compute",
    metadata,
    id_column(),
    Column("name", String(63), nullable=False, unique=True),
    # Size, limits and provisioner (model/elastic.py: ElasticSpec).
    Column("spec", JSON, nullable=False),
    time_column("created_at"),
    Column("created_by", String(63), nullable=False),
    time_column("changed_at"),
    Column("changed_by", String(63), nullable=False),
    Column("failures", Integer, nullable=False, server_default=text("0")),
    time_column("retry_at", nullable=True),
    Column("problem", Text, nullable=True),
)

# Written before the machine is created, so that none is ever unknown.
elastic_node = Table(
    "elastic_node",
    metadata,
    id_column(),
    ref_column("elastic_id", "elastic_compute.id", cascade=True),
    Column("name", String(63), nullable=False, unique=True),
    Column("state", String(20), nullable=False),
    Column("reason", Text, nullable=False),
    # No foreign keys: the machine outlives its token, and the compute it joined with may be detached.
    Column("join_token_id", String(32), nullable=False, index=True),
    Column("compute_id", String(32), nullable=True),
    time_column("created_at"),
    time_column("ready_at", nullable=True),
    time_column("deleting_at", nullable=True),
    time_column("gone_at", nullable=True),
    Column("used", Boolean, nullable=False, server_default=text("false")),
    Column("price_per_hour", Double, nullable=False, server_default=text("0")),
    Column("problem", Text, nullable=True),
    Index("ix_elastic_node_living", "elastic_id",
          sqlite_where=text("gone_at IS NULL"), postgresql_where=text("gone_at IS NULL")),
)  # fmt: skip
