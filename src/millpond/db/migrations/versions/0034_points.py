"""Points of metrics are written with less: no index of what waits to be folded, no second compression."""

from __future__ import annotations

from alembic import op

revision = "0034"
down_revision = "0033"


def upgrade() -> None:
    op.drop_index("ix_run_unfolded", table_name="run")
    if op.get_bind().dialect.name == "postgresql":
        # They are compressed already, or short.
        for table in ("metric_batch", "metric_chunk"):
            op.execute(f"ALTER TABLE {table} ALTER COLUMN data SET STORAGE EXTERNAL")
