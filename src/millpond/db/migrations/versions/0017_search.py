"""Indexes that a search by name reads instead of the tables."""

from __future__ import annotations

from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    op.create_index("ix_job_search", "job", ["project_id", "name", "number", "deleted_at", "queued_at", "id"])
    op.create_index("ix_run_search", "run", ["project_id", "name", "deleted_at", "started_at", "id"])
