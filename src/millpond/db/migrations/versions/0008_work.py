"""Jobs that are tried again, wait for others and have limits; what belongs to running them at many sites."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    add_to_job()
    add_to_placement()
    add_to_caches()
    add_isolation()
    create_log_chunk()
    add_to_usage()


def add_to_job() -> None:
    op.add_column("job", sa.Column("wanted_compute", sa.String(length=63), nullable=True))
    op.add_column("job", sa.Column("priority", sa.Integer(), nullable=False, server_default=sa.text("0")))
    op.add_column("job", sa.Column("timeout_seconds", sa.BigInteger(), nullable=False, server_default=sa.text("0")))
    op.add_column("job", sa.Column("retries", sa.Integer(), nullable=False, server_default=sa.text("0")))
    op.add_column("job", sa.Column("retry_on", sa.JSON(), nullable=False, server_default=sa.text("'[]'")))
    op.add_column("job", sa.Column("backoff_seconds", sa.Integer(), nullable=False, server_default=sa.text("5")))
    op.add_column("job", sa.Column("after", sa.JSON(), nullable=False, server_default=sa.text("'[]'")))
    for number in ("attempt", "retried", "losses"):
        op.add_column("job", sa.Column(number, sa.Integer(), nullable=False, server_default=sa.text("0")))
    op.add_column("job", sa.Column("requeued_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("job", sa.Column("not_before", sa.DateTime(timezone=True), nullable=True))
    op.add_column("job", sa.Column("ending", sa.String(length=20), nullable=True))
    op.add_column("job", sa.Column("progress", sa.Double(), nullable=True))
    op.add_column("job", sa.Column("environment_source", sa.String(length=64), nullable=True))
    op.add_column("job", sa.Column("environment_job", sa.String(length=32), nullable=True))
    op.add_column("job", sa.Column("environment_commit", sa.String(length=64), nullable=True))
    op.add_column("job", sa.Column("environment_at", sa.DateTime(timezone=True), nullable=True))
    op.create_index("ix_job_project_id_queued_at", "job", ["project_id", "queued_at", "id"])
    op.create_index("ix_job_state_queued_at", "job", ["state", "queued_at", "id"])
    op.add_column("job", sa.Column("gpu_enforced", sa.Boolean(), nullable=False, server_default=sa.text("false")))
    op.add_column("job", sa.Column("gpu_share", sa.String(length=20), nullable=True))
    op.add_column("job", sa.Column("ports", sa.JSON(), nullable=False, server_default=sa.text("'[]'")))
    op.add_column("job", sa.Column("idle_seconds", sa.BigInteger(), nullable=False, server_default=sa.text("0")))
    op.add_column("job", sa.Column("used_at", sa.DateTime(timezone=True), nullable=True))


def add_to_placement() -> None:
    op.add_column("placement", sa.Column("number", sa.Integer(), nullable=False, server_default=sa.text("1")))
    op.add_column("placement", sa.Column("started_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("placement", sa.Column("exited_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("placement", sa.Column("exit_code", sa.Integer(), nullable=True))
    op.add_column("placement", sa.Column("signal", sa.Integer(), nullable=True))
    op.add_column("placement", sa.Column("ending", sa.String(length=20), nullable=True))
    op.add_column("placement", sa.Column("problem", sa.Text(), nullable=True))


def add_to_caches() -> None:
    op.add_column("cached_commit", sa.Column("found", sa.Boolean(), nullable=False, server_default=sa.text("false")))
    op.add_column("lease", sa.Column("reader", sa.String(length=32), nullable=True))


def create_log_chunk() -> None:
    op.create_table(
        "log_chunk",
        sa.Column("placement_id", sa.String(length=32), nullable=False),
        sa.Column("begin", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("end", sa.BigInteger(), nullable=False),
        sa.Column("lines_before", sa.BigInteger(), nullable=False),
        sa.Column("lines", sa.BigInteger(), nullable=False),
        sa.Column("stored_bytes", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["placement_id"], ["placement.id"], name=op.f("fk_log_chunk_placement_id_placement"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("placement_id", "begin", name=op.f("pk_log_chunk")),
    )


def add_to_usage() -> None:
    op.add_column("usage_sample", sa.Column("received_bytes", sa.BigInteger(), nullable=True))
    op.add_column("usage_sample", sa.Column("sent_bytes", sa.BigInteger(), nullable=True))
    op.add_column("usage_sample", sa.Column("network_shared", sa.Boolean(), nullable=True))


def add_isolation() -> None:
    op.create_table(
        "account",
        sa.Column("number", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("project_id", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_account")),
        sa.UniqueConstraint("project_id", name=op.f("uq_account_project_id")),
    )
    op.execute("INSERT INTO account (project_id) SELECT id FROM project ORDER BY created_at, id")
    op.create_table(
        "trust",
        sa.Column("agent_id", sa.String(length=32), nullable=False),
        sa.Column("project_id", sa.String(length=32), nullable=False),
        sa.ForeignKeyConstraint(["agent_id"], ["agent.id"], name=op.f("fk_trust_agent_id_agent"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_trust_project_id_project"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("agent_id", "project_id", name=op.f("pk_trust")),
    )
    op.create_index(op.f("ix_trust_project_id"), "trust", ["project_id"])
    op.add_column("agent", sa.Column("trusts_all", sa.Boolean(), nullable=False, server_default=sa.text("false")))
    # Until now every compute took every project. The one of this machine goes on doing so; others say what they need.
    op.execute("UPDATE agent SET trusts_all = true WHERE name = 'local'")
