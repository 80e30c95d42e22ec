"""Distributed jobs, with a log for each of their processes; secrets that projects give their jobs; streams that
servers tell each other of."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

_CHUNK = "placement_id, begin, end, lines_before, lines, stored_bytes"


def upgrade() -> None:
    op.add_column("job", sa.Column("processes", sa.Integer(), nullable=False, server_default=sa.text("0")))
    op.add_column("job", sa.Column("failed_rank", sa.Integer(), nullable=True))
    op.add_column("placement", sa.Column("places", sa.JSON(), nullable=False, server_default=sa.text("'[]'")))
    op.add_column("placement", sa.Column("ranks", sa.JSON(), nullable=False, server_default=sa.text("'[]'")))
    add_rank_to_log_chunk()
    create_secret()
    create_tunnel()


def add_rank_to_log_chunk() -> None:
    """The rank is part of the key, which no database changes in place in the same words: the rows move over."""
    columns = ", ".join(f'"{name}"' for name in _CHUNK.split(", "))
    op.execute(f"CREATE TABLE log_chunk_before AS SELECT {columns} FROM log_chunk")
    op.drop_table("log_chunk")
    op.create_table(
        "log_chunk",
        sa.Column("placement_id", sa.String(length=32), nullable=False),
        sa.Column("rank", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("begin", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("end", sa.BigInteger(), nullable=False),
        sa.Column("lines_before", sa.BigInteger(), nullable=False),
        sa.Column("lines", sa.BigInteger(), nullable=False),
        sa.Column("stored_bytes", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["placement_id"],
            ["placement.id"],
            name=op.f("fk_log_chunk_placement_id_placement"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("placement_id", "rank", "begin", name=op.f("pk_log_chunk")),
    )
    op.execute(f"INSERT INTO log_chunk ({columns}) SELECT {columns} FROM log_chunk_before")
    op.drop_table("log_chunk_before")


def create_secret() -> None:
    op.create_table(
        "secret",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("project_id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=63), nullable=False),
        sa.Column("value", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_by", sa.String(length=63), nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("changed_by", sa.String(length=63), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_secret_project_id_project"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_secret")),
        sa.UniqueConstraint("project_id", "name", name=op.f("uq_secret_project_id_name")),
    )
    op.add_column("job", sa.Column("secrets", sa.JSON(), nullable=False, server_default=sa.text("'{}'")))


def create_tunnel() -> None:
    op.create_table(
        "tunnel",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("agent_id", sa.String(length=32), nullable=False),
        sa.Column("server", sa.Text(), nullable=False),
        sa.Column("wanted", sa.JSON(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["agent_id"], ["agent.id"], name=op.f("fk_tunnel_agent_id_agent"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tunnel")),
    )
    op.create_index("ix_tunnel_agent_id", "tunnel", ["agent_id"])
