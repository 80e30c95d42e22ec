"""Endpoints: revisions, replicas, routers and tokens."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0040"
down_revision = "0039"

_LIVING = sa.text("state != 'ended'")


def upgrade() -> None:
    op.create_table(
        "endpoint",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("project_id", sa.String(32), nullable=False),
        sa.Column("name", sa.String(63), nullable=False),
        sa.Column("created_by", sa.String(63), nullable=False),
        sa.Column("user_id", sa.String(32), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("spec", sa.JSON(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("weights", sa.JSON(), nullable=False),
        sa.Column("rollout", sa.JSON(), nullable=True),
        sa.Column("wanted", sa.JSON(), nullable=False),
        sa.Column("scale_reasons", sa.JSON(), nullable=False),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("reasons", sa.JSON(), nullable=False),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_endpoint_project_id_project"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_endpoint")),
        sa.UniqueConstraint("project_id", "name", name=op.f("uq_endpoint_project_id_name")),
    )
    op.create_table(
        "endpoint_revision",
        sa.Column("endpoint_id", sa.String(32), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("spec", sa.JSON(), nullable=False),
        sa.Column("created_by", sa.String(63), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("action", sa.String(20), nullable=False),
        sa.Column("restores", sa.Integer(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["endpoint_id"], ["endpoint.id"], name=op.f("fk_endpoint_revision_endpoint_id_endpoint"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("endpoint_id", "number", name=op.f("pk_endpoint_revision")),
    )  # fmt: skip
    op.create_table(
        "replica",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("endpoint_id", sa.String(32), nullable=False),
        sa.Column("site_id", sa.String(32), nullable=False),
        sa.Column("site", sa.String(63), nullable=False),
        sa.Column("model", sa.String(200), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("shape", sa.String(32), nullable=False),
        sa.Column("job_id", sa.String(32), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("ready_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("draining_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("placement_id", sa.String(32), nullable=True),
        sa.Column("ready", sa.JSON(), nullable=False),
        sa.Column("problem", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["endpoint_id"], ["endpoint.id"], name=op.f("fk_replica_endpoint_id_endpoint"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_replica")),
    )
    op.create_index(op.f("ix_replica_endpoint_id"), "replica", ["endpoint_id"])
    op.create_index(op.f("ix_replica_job_id"), "replica", ["job_id"])
    op.create_index("ix_replica_living", "replica", ["endpoint_id"], sqlite_where=_LIVING, postgresql_where=_LIVING)
    op.create_table(
        "router",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("project_id", sa.String(32), nullable=False),
        sa.Column("site_id", sa.String(32), nullable=False),
        sa.Column("site", sa.String(63), nullable=False),
        sa.Column("http_port", sa.Integer(), nullable=False),
        sa.Column("grpc_port", sa.Integer(), nullable=False),
        sa.Column("metrics_port", sa.Integer(), nullable=False),
        sa.Column("job_id", sa.String(32), nullable=True),
        sa.Column("placement_id", sa.String(32), nullable=True),
        sa.Column("config", sa.JSON(), nullable=False),
        sa.Column("config_number", sa.Integer(), nullable=False),
        sa.Column("problem", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_router_project_id_project"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_router")),
        sa.UniqueConstraint("project_id", "site_id", "http_port", name=op.f("uq_router_project_id_site_id_http_port")),
    )
    op.create_index(op.f("ix_router_job_id"), "router", ["job_id"])
    op.create_table(
        "service_report",
        sa.Column("placement_id", sa.String(32), nullable=False),
        sa.Column("ready", sa.JSON(), nullable=True),
        sa.Column("stats", sa.JSON(), nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["placement_id"], ["placement.id"], name=op.f("fk_service_report_placement_id_placement"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("placement_id", name=op.f("pk_service_report")),
    )  # fmt: skip
    op.create_table(
        "endpoint_token",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("project_id", sa.String(32), nullable=False),
        sa.Column("endpoint_id", sa.String(32), nullable=False),
        sa.Column("name", sa.String(63), nullable=False),
        sa.Column("created_by", sa.String(63), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("quota", sa.Integer(), nullable=False),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_endpoint_token_project_id_project"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_endpoint_token")),
    )
    op.create_index(op.f("ix_endpoint_token_project_id"), "endpoint_token", ["project_id"])
    op.create_index(op.f("ix_endpoint_token_endpoint_id"), "endpoint_token", ["endpoint_id"])
    op.create_table(
        "signing_key",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("public", sa.String(64), nullable=False),
        sa.Column("private", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_signing_key")),
    )
    op.add_column("site", sa.Column("serving_host", sa.String(200), nullable=True))
    op.add_column("site", sa.Column("serving_tls_cert", sa.String(1000), nullable=True))
    op.add_column("site", sa.Column("serving_tls_key", sa.String(1000), nullable=True))
