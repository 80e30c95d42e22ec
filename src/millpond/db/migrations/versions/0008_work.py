"""Jobs that are tried again, wait for others and have limits; what belongs to running them at many sites."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    add_to_job()
    add_to_placement()


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
    op.add_column("job", sa.Column("not_before", sa.DateTime(timezone=True), nullable=True))
    op.add_column("job", sa.Column("ending", sa.String(length=20), nullable=True))
    op.add_column("job", sa.Column("progress", sa.Double(), nullable=True))
    op.add_column("job", sa.Column("environment_job", sa.String(length=32), nullable=True))
    op.add_column("job", sa.Column("environment_commit", sa.String(length=64), nullable=True))
    op.add_column("job", sa.Column("environment_at", sa.DateTime(timezone=True), nullable=True))


def add_to_placement() -> None:
    op.add_column("placement", sa.Column("number", sa.Integer(), nullable=False, server_default=sa.text("1")))
    op.add_column("placement", sa.Column("started_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("placement", sa.Column("exited_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("placement", sa.Column("exit_code", sa.Integer(), nullable=True))
    op.add_column("placement", sa.Column("signal", sa.Integer(), nullable=True))
    op.add_column("placement", sa.Column("ending", sa.String(length=20), nullable=True))
    op.add_column("placement", sa.Column("problem", sa.Text(), nullable=True))
