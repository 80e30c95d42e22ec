"""Projects have quotas and other settings of their GPUs; a job's GPUs are counted with all its processes."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"

_job = sa.table("job", sa.column("id"), sa.column("gpu_hundredths"), sa.column("gpus"), sa.column("spec", sa.JSON))


def upgrade() -> None:
    op.add_column("project", sa.Column("shares", sa.JSON(), nullable=False, server_default=sa.text("'{}'")))
    op.add_column("job", sa.Column("gpus", sa.Integer(), nullable=False, server_default=sa.text("0")))
    tx = op.get_bind()
    tx.execute(_job.update().values(gpus=_job.c.gpu_hundredths))
    for row in tx.execute(sa.select(_job).where(_job.c.gpu_hundredths > 0)).all():
        if processes := row.spec.get("processes"):
            tx.execute(_job.update().where(_job.c.id == row.id).values(gpus=row.gpu_hundredths * processes))
