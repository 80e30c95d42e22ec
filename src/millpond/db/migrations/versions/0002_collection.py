"""What collecting the lake needs: sequences, condemned packs, promised pages, doomed objects, retention."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.add_column("server", sa.Column("collector", sa.String(length=32), nullable=True))
    op.add_column("server", sa.Column("collector_until", sa.DateTime(timezone=True), nullable=True))
    op.add_column("project", sa.Column("sequence", sa.BigInteger(), nullable=False, server_default=sa.text("0")))
    op.add_column("dataset", sa.Column("retention", sa.JSON(), nullable=True))
    op.add_column("commit_", sa.Column("set_aside_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("pack", sa.Column("condemned_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("pack", sa.Column("problem", sa.Text(), nullable=True))
    create_promised_page()
    create_doomed_object()
    # Until now only packs that are not what they say were condemned.
    op.execute("UPDATE pack SET problem = 'It is not what it says.' WHERE state = 'condemned'")


def create_promised_page() -> None:
    op.create_table(
        "promised_page",
        sa.Column("project_id", sa.String(length=32), nullable=False),
        sa.Column("id", sa.LargeBinary(length=32), nullable=False),
        sa.Column("token", sa.String(length=32), nullable=False),
        sa.Column("promised_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_promised_page_project_id_project"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("project_id", "id", name=op.f("pk_promised_page")),
        sqlite_with_rowid=False,
    )
    op.create_index(op.f("ix_promised_page_promised_at"), "promised_page", ["promised_at"], unique=False)


def create_doomed_object() -> None:
    op.create_table(
        "doomed_object",
        sa.Column("key", sa.String(length=512), nullable=False),
        sa.Column("project_id", sa.String(length=32), nullable=False),
        sa.Column("doomed_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_doomed_object")),
    )
    op.create_index(op.f("ix_doomed_object_project_id"), "doomed_object", ["project_id"], unique=False)
