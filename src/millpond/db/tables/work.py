"""Jobs, placements, and what runs keep beside their records (runs.py)."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from millpond.db.tables.base import BigId, Bytes, UtcTime, id_column, metadata, ref_column, time_column

job = Table(
    "job",
    metadata,
    id_column(),
    ref_column("project_id", "project.id"),
    Column("name", String(63), nullable=False),
    Column("number", Integer, nullable=False),
    # Of what was asked, as the spec says it: what is searched and ordered by.
    Column("kind", String(20), nullable=False),
    Column("gpu_hundredths", Integer, nullable=False),
    Column("code_commit", String(64), ForeignKey("commit_.id"), nullable=True),
    # Its status (model/job.py).
    Column("state", String(20), nullable=False),
    Column("reasons", JSON, nullable=False),
    ref_column("run_id", "run.id"),
    Column("created_by", String(63), nullable=False),
    time_column("stop_requested_at", nullable=True),
    # When it was submitted; attempts after the first do not change it.
    time_column("queued_at", index=True),
    time_column("placed_at", nullable=True),
    time_column("filled_at", nullable=True),
    time_column("started_at", nullable=True),
    time_column("exited_at", nullable=True),
    time_column("ended_at", nullable=True),
    time_column("deleted_at", nullable=True),
    Column("exit_code", Integer, nullable=True),
    Column("signal", Integer, nullable=True),
    Column("problem", Text, nullable=True),
    Column("output_commit", String(64), ForeignKey("commit_.id"), nullable=True),
    Column("placement_id", String(32), nullable=True),  # the current one
    Column("compute", String(63), nullable=True),
    Column("node", String(200), nullable=True),
    Column("priority", Integer, nullable=False, server_default=text("0")),
    Column("attempt", Integer, nullable=False, server_default=text("0")),
    Column("retried", Integer, nullable=False, server_default=text("0")),
    Column("losses", Integer, nullable=False, server_default=text("0")),
    time_column("requeued_at", nullable=True),
    time_column("not_before", nullable=True),
    Column("ending", String(20), nullable=True),
    Column("progress", Double, nullable=True),
    Column("environment_job", String(32), nullable=True),
    Column("environment_commit", String(64), nullable=True),
    time_column("environment_at", nullable=True),
    Column("gpu_share", String(20), nullable=True),
    time_column("used_at", nullable=True),
    Column("failed_rank", Integer, nullable=True),
    # What was asked (model/job_spec.py), and the digest of what has a say in where it can run.
    Column("spec", JSON, nullable=False, server_default=text("'{}'")),
    Column("class_key", String(32), nullable=False, server_default=text("''")),
    # Hundredths of a GPU, of all its processes together.
    Column("gpus", Integer, nullable=False, server_default=text("0")),
    # The template it is planned with or runs on (model/template.py: TemplateUse); null without one.
    Column("template", JSON(none_as_null=True), nullable=True),
    # Its branch of `.checkpoints` keeps the commit.
    Column("checkpoint_commit", String(64), nullable=True),
    time_column("saved_at", nullable=True),
    # Of what was asked, too: what a plan looks at. `dependent`: it comes after other jobs.
    Column("preemptible", Boolean, nullable=False, server_default=text("true")),
    Column("timeout_seconds", Integer, nullable=False, server_default=text("0")),
    Column("dependent", Boolean, nullable=False, server_default=text("false")),
    # Of its status: the rule under which it waits or was placed.
    Column("rule", String(40), nullable=True),
    Column("waits_for", Text, nullable=True),
    Column("preemptions", Integer, nullable=False, server_default=text("0")),
    Column("preempted_at", JSON, nullable=False, server_default=text("'[]'")),
    time_column("suspended_at", nullable=True),
    # Of a step of a flow: the values that it wrote, and the names of outputs that are files.
    Column("step_made", JSON(none_as_null=True), nullable=True),
    # W3C's traceparent of the request that submitted it.
    Column("trace", String(100), nullable=True),
    UniqueConstraint("project_id", "name", "number"),
    Index("ix_job_state", "state"),
    # Lists are read from their newest end, however long they have grown.
    Index("ix_job_project_id_queued_at", "project_id", "queued_at", "id"),
    Index("ix_job_state_queued_at", "state", "queued_at", "id"),
    # All that `mill find` looks at.
    Index("ix_job_search", "project_id", "name", "number", "deleted_at", "queued_at", "id"),
    # A name is unique in its project among jobs that have not ended.
    Index("uq_job_name_living", "project_id", "name", unique=True,
          sqlite_where=text("ended_at IS NULL"), postgresql_where=text("ended_at IS NULL")),
)  # fmt: skip

placement = Table(
    "placement",
    metadata,
    id_column(),
    ref_column("job_id", "job.id", cascade=True),
    # Who was told to run it: an agent that comes after it has nothing to do with it.
    ref_column("agent_id", "agent.id"),
    Column("node", String(200), nullable=False),
    Column("state", String(20), nullable=False),
    Column("valid_seconds", Integer, nullable=False),
    Column("gpu_indices", JSON, nullable=False),
    time_column("created_at"),
    time_column("renewed_at"),
    time_column("ended_at", nullable=True),
    # The how-manyth attempt of its job, and how it went: kept when the job is tried again.
    Column("number", Integer, nullable=False, server_default=text("1")),
    time_column("started_at", nullable=True),
    time_column("exited_at", nullable=True),
    Column("exit_code", Integer, nullable=True),
    Column("signal", Integer, nullable=True),
    Column("ending", String(20), nullable=True),
    Column("problem", Text, nullable=True),
    # Of a distributed job, by rank: the node and GPUs each process was given, and what was last heard of it.
    Column("places", JSON, nullable=False, server_default=text("'[]'")),
    Column("ranks", JSON, nullable=False, server_default=text("'[]'")),
    # Where it runs: a node of this compute. No plain index: see below.
    ref_column("compute_id", "compute.id", index=False),
    Column("grace_seconds", Integer, nullable=False, server_default=text("10")),
    # What each place would have cost when it was made.
    Column("scores", JSON, nullable=False, server_default=text("'[]'")),
    # Asked for with every exchange and every plan: they are few, those that have ended are ever more.
    Index("ix_placement_living", "agent_id",
          sqlite_where=text("ended_at IS NULL"), postgresql_where=text("ended_at IS NULL")),
    Index("ix_placement_living_compute", "compute_id",
          sqlite_where=text("ended_at IS NULL"), postgresql_where=text("ended_at IS NULL")),
)  # fmt: skip

# Artifacts whose content is in the lake, and which the run's next commit will hold (docs/design/013).
staged_artifact = Table(
    "staged_artifact",
    metadata,
    # Another one each time a path is logged: what was merged is removed by it, and nothing newer.
    Column("id", BigId, primary_key=True, autoincrement=True),
    ref_column("run_id", "run.id", cascade=True, index=False),
    Column("path", String(1000), nullable=False),
    Column("kind", Integer, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("content", Integer, nullable=False),
    Column("digest", Bytes(32), nullable=False),
    # Whose packs hold the content: user:<id> or placement:<id>.
    Column("owner", String(80), nullable=False),
    time_column("staged_at"),
    UniqueConstraint("run_id", "path"),
)

# Artifacts of earlier versions, objects of their own; taken into the lake one run after the other.
loose_artifact = Table(
    "artifact",
    metadata,
    Column("run_id", String(32), ForeignKey("run.id", ondelete="CASCADE"), primary_key=True),
    Column("path", String(1000), primary_key=True),
    Column("size", BigInteger, nullable=False),
    Column("key", Text, nullable=False),  # in the lake
    time_column("created_at"),
)

usage = Table(
    "usage_sample",
    metadata,
    Column("job_id", String(32), ForeignKey("job.id", ondelete="CASCADE"), primary_key=True),
    Column("at", UtcTime, primary_key=True),
    Column("cpu_percent", Double, nullable=False),
    Column("memory_bytes", BigInteger, nullable=False),
    Column("read_bytes", BigInteger, nullable=False),
    Column("write_bytes", BigInteger, nullable=False),
    Column("gpu_percent", Double, nullable=True),
    Column("gpu_memory_bytes", BigInteger, nullable=True),
    # Of the network namespace it ran in; null where nobody counted.
    Column("received_bytes", BigInteger, nullable=True),
    Column("sent_bytes", BigInteger, nullable=True),
    # The namespace was the machine's own: the counts are of everything that ran there.
    Column("network_shared", Boolean, nullable=True),
)
