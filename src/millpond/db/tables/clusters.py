"""Clusters of Dask and Ray, the jobs that they are made of, and what happened to them (docs/design/027)."""

from __future__ import annotations

from sqlalchemy import JSON, Column, Index, Integer, LargeBinary, String, Table, Text, UniqueConstraint, text

from millpond.db.tables.base import id_column, metadata, ref_column, time_column

cluster = Table(
    "cluster",
    metadata,
    id_column(),
    ref_column("project_id", "project.id", cascade=True, index=False),
    Column("name", String(63), nullable=False),
    Column("created_by", String(63), nullable=False),
    # No foreign keys: a user who was deleted leaves clusters behind, and a site may go.
    Column("user_id", String(32), nullable=False),
    time_column("created_at"),
    time_column("changed_at"),
    Column("site_id", String(32), nullable=False),
    Column("site", String(63), nullable=False),
    # What was asked (model/cluster.py: ClusterSpec).
    Column("spec", JSON, nullable=False),
    # Certificates and keys, or a token: sealed.
    Column("secret", LargeBinary, nullable=False),
    Column("wanted", Integer, nullable=False),
    Column("wanted_reason", Text, nullable=False),
    time_column("fewer_since", nullable=True),
    Column("state", String(20), nullable=False),
    Column("reasons", JSON, nullable=False),
    time_column("deleted_at", nullable=True),
    Column("revision", Integer, nullable=False),
    UniqueConstraint("project_id", "name"),
)

cluster_process = Table(
    "cluster_process",
    metadata,
    id_column(),
    ref_column("cluster_id", "cluster.id", cascade=True, index=False),
    Column("role", String(20), nullable=False),
    # No foreign key: the job may be purged first.
    Column("job_id", String(32), nullable=False, index=True),
    Column("job_name", String(63), nullable=False),
    time_column("created_at"),
    Column("state", String(20), nullable=False),
    time_column("ready_at", nullable=True),
    time_column("retiring_at", nullable=True),
    Column("placement_id", String(32), nullable=True),
    Column("ready", JSON, nullable=False),
    Column("problem", Text, nullable=True),
    Index("ix_cluster_process_living", "cluster_id", sqlite_where=text("state != 'ended'"),
          postgresql_where=text("state != 'ended'")),
)  # fmt: skip

cluster_event = Table(
    "cluster_event",
    metadata,
    id_column(),
    ref_column("cluster_id", "cluster.id", cascade=True, index=False),
    time_column("at"),
    Column("what", Text, nullable=False),
    Index("ix_cluster_event_newest", "cluster_id", "at"),
)
