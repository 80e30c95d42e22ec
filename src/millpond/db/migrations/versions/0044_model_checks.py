"""What a check found out of a version of a model."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0044"
down_revision = "0043"


def upgrade() -> None:
    op.add_column("model_version", sa.Column("check_report", sa.JSON(), nullable=True))
    op.add_column("model_version", sa.Column("check_job", sa.String(32), nullable=True))
    op.create_index("ix_model_version_check_job", "model_version", ["check_job"])
