"""Jobs are planned by quota and share: what a plan looks at, nominations, reservations, events, samples of shares."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from millpond.model.job_spec import JobSpec

revision = "0024"
down_revision = "0023"

_job = sa.table(
    "job",
    sa.column("id"),
    sa.column("state"),
    sa.column("spec", sa.JSON),
    *(sa.column(name) for name in ("preemptible", "timeout_seconds", "dependent")),
)
_ENDED = ("succeeded", "failed", "cancelled")


def upgrade() -> None:
    op.add_column("server", sa.Column("plans", sa.BigInteger(), nullable=False, server_default=sa.text("0")))
    for column in _columns():
        op.add_column("job", column)
    _create_tables()
    _fill_columns(op.get_bind())


def _columns() -> list[sa.Column[object]]:
    return [
        sa.Column("preemptible", sa.Boolean(), nullable=False, server_default=sa.text("true")),
        sa.Column("timeout_seconds", sa.Integer(), nullable=False, server_default=sa.text("0")),
        sa.Column("dependent", sa.Boolean(), nullable=False, server_default=sa.text("false")),
        sa.Column("rule", sa.String(40), nullable=True),
        sa.Column("waits_for", sa.Text(), nullable=True),
        sa.Column("preemptions", sa.Integer(), nullable=False, server_default=sa.text("0")),
        sa.Column("preempted_at", sa.JSON(), nullable=False, server_default=sa.text("'[]'")),
    ]


def _create_tables() -> None:
    big_id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "job_event",
        sa.Column("id", big_id, primary_key=True, autoincrement=True),
        sa.Column("job_id", sa.String(32), sa.ForeignKey("job.id", ondelete="CASCADE"), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("from_state", sa.String(20), nullable=True),
        sa.Column("to_state", sa.String(20), nullable=False),
        sa.Column("rule", sa.String(40), nullable=True),
        sa.Column("by", sa.String(63), nullable=True),
        sa.Column("node", sa.String(200), nullable=True),
        sa.Column("attempt", sa.Integer(), nullable=True),
    )
    op.create_index("ix_job_event_job_id", "job_event", ["job_id"])
    op.create_table(
        "nomination",
        sa.Column("job_id", sa.String(32), sa.ForeignKey("job.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("compute_id", sa.String(32), sa.ForeignKey("compute.id", ondelete="CASCADE"), nullable=False),
        sa.Column("places", sa.JSON(), nullable=False),
        sa.Column("rule", sa.String(40), nullable=False),
        sa.Column("victims", sa.JSON(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_table(
        "reservation",
        sa.Column("job_id", sa.String(32), sa.ForeignKey("job.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("nodes", sa.JSON(), nullable=False),
        sa.Column("claim", sa.Boolean(), nullable=False),
        sa.Column("expected", sa.Double(), nullable=True),
    )
    op.create_table(
        "gpu_share_sample",
        sa.Column("at", sa.DateTime(timezone=True), primary_key=True),
        sa.Column("project_id", sa.String(32), sa.ForeignKey("project.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("pool", sa.String(63), primary_key=True),
        sa.Column("quota", sa.Integer(), nullable=False),
        sa.Column("share", sa.Integer(), nullable=False),
        sa.Column("allocated", sa.Integer(), nullable=False),
        sa.Column("pending_gpus", sa.Integer(), nullable=False),
        sa.Column("pending_jobs", sa.Integer(), nullable=False),
    )


def _fill_columns(tx: sa.Connection) -> None:
    """Of jobs that are still planned; nobody looks at those of the others."""
    for row in tx.execute(sa.select(_job).where(_job.c.state.not_in(_ENDED))).all():
        spec = JobSpec.from_document(row.spec)
        values = {"timeout_seconds": spec.timeout_seconds, "dependent": bool(spec.after)}
        values["preemptible"] = spec.is_preemptible
        tx.execute(_job.update().where(_job.c.id == row.id).values(**values))
