"""What the scheduler has decided and not yet carried out, what happened to jobs, and how GPUs were shared over time."""

from __future__ import annotations

from sqlalchemy import JSON, Boolean, Column, Double, ForeignKey, Integer, String, Table

from millpond.db.tables.base import BigId, UtcTime, metadata, ref_column, time_column

# Every change of a job's state. `by` is who or what caused it: a user's name, or the id of the job it made room for.
job_event = Table(
    "job_event",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    ref_column("job_id", "job.id", cascade=True),
    time_column("at"),
    Column("from_state", String(20), nullable=True),
    Column("to_state", String(20), nullable=False),
    Column("rule", String(40), nullable=True),
    Column("by", String(63), nullable=True),
    Column("node", String(200), nullable=True),
    Column("attempt", Integer, nullable=True),
)

# A queued job whose room is still held by jobs that were preempted for it (docs/design/014, n).
nomination = Table(
    "nomination",
    metadata,
    Column("job_id", String(32), ForeignKey("job.id", ondelete="CASCADE"), primary_key=True),
    ref_column("compute_id", "compute.id", cascade=True, index=False),
    # By process: the node and GPUs it will have.
    Column("places", JSON, nullable=False),
    Column("rule", String(40), nullable=False),
    Column("victims", JSON, nullable=False),
    time_column("at"),
)

# Nodes kept for a large job (docs/design/014, l).
reservation = Table(
    "reservation",
    metadata,
    Column("job_id", String(32), ForeignKey("job.id", ondelete="CASCADE"), primary_key=True),
    # As COMPUTE/NODE.
    Column("nodes", JSON, nullable=False),
    Column("claim", Boolean, nullable=False),
    # Seconds since the epoch; null while unknown.
    Column("expected", Double, nullable=True),
)

# What each project held and waited for, in hundredths of a GPU, now and then.
gpu_share_sample = Table(
    "gpu_share_sample",
    metadata,
    Column("at", UtcTime, primary_key=True),
    Column("project_id", String(32), ForeignKey("project.id", ondelete="CASCADE"), primary_key=True),
    Column("pool", String(63), primary_key=True),
    Column("quota", Integer, nullable=False),
    Column("share", Integer, nullable=False),
    Column("allocated", Integer, nullable=False),
    Column("pending_gpus", Integer, nullable=False),
    Column("pending_jobs", Integer, nullable=False),
)
