"""Events, processes, failed logins and used tickets of several servers on one database."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0055"
down_revision = "0054"

_TIME = sa.DateTime(timezone=True)
_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "event",
        sa.Column("id", _NUMBER, autoincrement=True, nullable=False),
        sa.Column("server", sa.String(32), nullable=False),
        sa.Column("kind", sa.String(8), nullable=False),
        sa.Column("topic", sa.Text(), nullable=False),
        sa.Column("project_id", sa.String(32), nullable=True),
        sa.Column("data", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_event")),
    )
    op.create_table(
        "server_process",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("host", sa.String(200), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("version", sa.String(40), nullable=False),
        sa.Column("key_mark", sa.String(16), nullable=False),
        sa.Column("started_at", _TIME, nullable=False),
        sa.Column("seen_at", _TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_server_process")),
    )
    op.create_table(
        "login_failure",
        sa.Column("id", _NUMBER, autoincrement=True, nullable=False),
        sa.Column("key", sa.LargeBinary(32), nullable=False),
        sa.Column("failed_at", _TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_login_failure")),
    )
    op.create_index(op.f("ix_login_failure_key"), "login_failure", ["key"])
    op.create_index(op.f("ix_login_failure_failed_at"), "login_failure", ["failed_at"])
    op.create_table(
        "used_ticket",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("expires_at", _TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_used_ticket")),
    )
    op.create_index(op.f("ix_used_ticket_expires_at"), "used_ticket", ["expires_at"])
    op.add_column("agent", sa.Column("heard_by", sa.String(32), nullable=True))
