"""Endpoints, their revisions, replicas, routers and tokens (docs/design/025)."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from millpond.db.tables.base import id_column, metadata, ref_column, time_column

endpoint = Table(
    "endpoint",
    metadata,
    id_column(),
    ref_column("project_id", "project.id", cascade=True, index=False),
    Column("name", String(63), nullable=False),
    Column("created_by", String(63), nullable=False),
    # No foreign key: a user who was deleted leaves endpoints behind, which go on as they are.
    Column("user_id", String(32), nullable=False),
    time_column("created_at"),
    time_column("changed_at"),
    # What was asked (model/endpoint_spec.py) with the newest revision, of which `number` is the number.
    Column("spec", JSON, nullable=False),
    Column("number", Integer, nullable=False),
    Column("weights", JSON, nullable=False),
    Column("rollout", JSON, nullable=True),
    Column("wanted", JSON, nullable=False),
    Column("scale_reasons", JSON, nullable=False),
    Column("state", String(20), nullable=False),
    Column("reasons", JSON, nullable=False),
    time_column("deleted_at", nullable=True),
    Column("revision", Integer, nullable=False),
    Column("failure", Text, nullable=True),
    UniqueConstraint("project_id", "name"),
)

endpoint_revision = Table(
    "endpoint_revision",
    metadata,
    Column("endpoint_id", String(32), ForeignKey("endpoint.id", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("spec", JSON, nullable=False),
    Column("created_by", String(63), nullable=False),
    time_column("created_at"),
    Column("action", String(20), nullable=False),
    Column("restores", Integer, nullable=True),
    Column("reason", Text, nullable=False),
)

replica = Table(
    "replica",
    metadata,
    id_column(),
    ref_column("endpoint_id", "endpoint.id", cascade=True),
    # No foreign keys: the site may go, and the job may be purged before the replica.
    Column("site_id", String(32), nullable=False),
    Column("site", String(63), nullable=False),
    Column("model", String(200), nullable=False),
    Column("version", Integer, nullable=False),
    Column("shape", String(32), nullable=False),
    Column("job_id", String(32), nullable=False, index=True),
    time_column("created_at"),
    Column("state", String(20), nullable=False),
    time_column("ready_at", nullable=True),
    time_column("draining_at", nullable=True),
    Column("placement_id", String(32), nullable=True),
    Column("ready", JSON, nullable=False),
    Column("problem", Text, nullable=True),
    # model/replica.py: FailedStarts; here and of routers.
    Column("failures", JSON, nullable=True),
    Index("ix_replica_living", "endpoint_id", sqlite_where=text("state != 'ended'"),
          postgresql_where=text("state != 'ended'")),
)  # fmt: skip

router = Table(
    "router",
    metadata,
    id_column(),
    ref_column("project_id", "project.id", cascade=True, index=False),
    Column("site_id", String(32), nullable=False),
    Column("site", String(63), nullable=False),
    Column("http_port", Integer, nullable=False),
    Column("grpc_port", Integer, nullable=False),
    Column("metrics_port", Integer, nullable=False),
    Column("job_id", String(32), nullable=True, index=True),
    Column("placement_id", String(32), nullable=True),
    Column("config", JSON, nullable=False),
    Column("config_number", Integer, nullable=False),
    Column("problem", Text, nullable=True),
    Column("failures", JSON, nullable=True),
    UniqueConstraint("project_id", "site_id", "http_port"),
)

# What the process of a service job told of itself, by its placement: that it is ready, and what it counted.
service_report = Table(
    "service_report",
    metadata,
    Column("placement_id", String(32), ForeignKey("placement.id", ondelete="CASCADE"), primary_key=True),
    Column("ready", JSON, nullable=True),
    Column("stats", JSON, nullable=True),
    time_column("at"),
)

endpoint_token = Table(
    "endpoint_token",
    metadata,
    id_column(),
    ref_column("project_id", "project.id", cascade=True),
    # No foreign key: tokens of an endpoint that is gone stay revoked, whatever else gets its name.
    Column("endpoint_id", String(32), nullable=False, index=True),
    Column("name", String(63), nullable=False),
    Column("created_by", String(63), nullable=False),
    time_column("created_at"),
    time_column("expires_at"),
    # Requests per minute; 0: as the endpoint says.
    Column("quota", Integer, nullable=False),
    time_column("revoked_at", nullable=True),
)

# Keys that sign tokens of endpoints. Routers know the public half; the private one is sealed.
signing_key = Table(
    "signing_key",
    metadata,
    id_column(),
    Column("public", String(64), nullable=False),
    Column("private", LargeBinary, nullable=False),
    time_column("created_at"),
)
