"""The first tables, in the order their foreign keys need."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    create_audit()
    create_project()
    create_server()
    create_site()
    create_user_account()
    create_agent()
    create_dataset()
    create_member()
    create_page()
    create_run()
    create_session()
    create_upload()
    create_volume()
    create_artifact()
    create_commit()
    create_eviction()
    create_metric()
    create_node()
    create_pack()
    create_record()
    create_run_writer()
    create_blob()
    create_cached_commit()
    create_job()
    create_metric_point()
    create_page_pack()
    create_ref()
    create_lease()
    create_placement()
    create_usage_sample()
    create_token()


def create_audit() -> None:
    op.create_table(
        "audit",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("actor", sa.String(length=100), nullable=False),
        sa.Column("action", sa.String(length=63), nullable=False),
        sa.Column("subject", sa.String(length=300), nullable=False),
        sa.Column("project_id", sa.String(length=32), nullable=True),
        sa.Column("details", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit")),
    )
    op.create_index(op.f("ix_audit_at"), "audit", ["at"], unique=False)
    op.create_index(op.f("ix_audit_project_id"), "audit", ["project_id"], unique=False)


def create_project() -> None:
    op.create_table(
        "project",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=63), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_project")),
        sa.UniqueConstraint("name", name=op.f("uq_project_name")),
    )


def create_server() -> None:
    op.create_table(
        "server",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("database_id", sa.String(length=32), nullable=False),
        sa.Column("lake_id", sa.String(length=32), nullable=True),
        sa.Column("secret", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_server")),
    )


def create_site() -> None:
    op.create_table(
        "site",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=63), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_site")),
        sa.UniqueConstraint("name", name=op.f("uq_site_name")),
    )


def create_user_account() -> None:
    op.create_table(
        "user_account",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=63), nullable=False),
        sa.Column("full_name", sa.String(length=200), nullable=False),
        sa.Column("password_hash", sa.String(length=200), nullable=False),
        sa.Column("is_admin", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("disabled_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_user_account")),
        sa.UniqueConstraint("name", name=op.f("uq_user_account_name")),
    )


def create_agent() -> None:
    op.create_table(
        "agent",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=63), nullable=False),
        sa.Column("site_id", sa.String(length=32), nullable=False),
        sa.Column("driver", sa.String(length=20), nullable=False),
        sa.Column("version", sa.String(length=40), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("instance", sa.String(length=64), nullable=True),
        sa.ForeignKeyConstraint(["site_id"], ["site.id"], name=op.f("fk_agent_site_id_site")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_agent")),
        sa.UniqueConstraint("name", name=op.f("uq_agent_name")),
    )
    op.create_index(op.f("ix_agent_site_id"), "agent", ["site_id"], unique=False)


def create_dataset() -> None:
    op.create_table(
        "dataset",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("project_id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=63), nullable=False),
        sa.Column("kind", sa.String(length=10), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_by", sa.String(length=63), nullable=False),
        sa.Column("active_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("next_record", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["project.id"], name=op.f("fk_dataset_project_id_project")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_dataset")),
    )
    op.create_index(op.f("ix_dataset_project_id"), "dataset", ["project_id"], unique=False)
    op.create_index(
        "uq_dataset_name_living",
        "dataset",
        ["project_id", "name"],
        unique=True,
        sqlite_where=sa.text("deleted_at IS NULL"),
        postgresql_where=sa.text("deleted_at IS NULL"),
    )


def create_member() -> None:
    op.create_table(
        "member",
        sa.Column("project_id", sa.String(length=32), nullable=False),
        sa.Column("user_id", sa.String(length=32), nullable=False),
        sa.Column("role", sa.String(length=10), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_member_project_id_project"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user_account.id"], name=op.f("fk_member_user_id_user_account"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("project_id", "user_id", name=op.f("pk_member")),
    )
    op.create_index(op.f("ix_member_user_id"), "member", ["user_id"], unique=False)


def create_page() -> None:
    op.create_table(
        "page",
        sa.Column("project_id", sa.String(length=32), nullable=False),
        sa.Column("id", sa.LargeBinary(length=32), nullable=False),
        sa.Column("level", sa.Integer(), nullable=False),
        sa.Column("entries", sa.BigInteger(), nullable=False),
        sa.Column("files", sa.BigInteger(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("allocated", sa.BigInteger(), nullable=False),
        sa.Column("first_path", sa.LargeBinary(), nullable=False),
        sa.Column("last_path", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_page_project_id_project"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("project_id", "id", name=op.f("pk_page")),
        sqlite_with_rowid=False,
    )


def create_run() -> None:
    op.create_table(
        "run",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("project_id", sa.String(length=32), nullable=False),
        sa.Column("experiment", sa.String(length=200), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("job_id", sa.String(length=32), nullable=True),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("params", sa.JSON(), nullable=False),
        sa.Column("tags", sa.JSON(), nullable=False),
        sa.Column("created_by", sa.String(length=63), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["project_id"], ["project.id"], name=op.f("fk_run_project_id_project")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_run")),
    )
    op.create_index(op.f("ix_run_job_id"), "run", ["job_id"], unique=False)
    op.create_index(op.f("ix_run_project_id"), "run", ["project_id"], unique=False)
    op.create_index(op.f("ix_run_started_at"), "run", ["started_at"], unique=False)


def create_session() -> None:
    op.create_table(
        "session",
        sa.Column("hash", sa.LargeBinary(length=32), nullable=False),
        sa.Column("csrf", sa.String(length=64), nullable=False),
        sa.Column("user_id", sa.String(length=32), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user_account.id"], name=op.f("fk_session_user_id_user_account"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("hash", name=op.f("pk_session")),
    )
    op.create_index(op.f("ix_session_expires_at"), "session", ["expires_at"], unique=False)
    op.create_index(op.f("ix_session_user_id"), "session", ["user_id"], unique=False)


def create_upload() -> None:
    op.create_table(
        "upload",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("project_id", sa.String(length=32), nullable=False),
        sa.Column("owner", sa.String(length=80), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_upload_project_id_project"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_upload")),
    )
    op.create_index(op.f("ix_upload_project_id"), "upload", ["project_id"], unique=False)


def create_volume() -> None:
    op.create_table(
        "volume",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=63), nullable=False),
        sa.Column("site_id", sa.String(length=32), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("capacity_bytes", sa.BigInteger(), nullable=False),
        sa.Column("reserve_bytes", sa.BigInteger(), nullable=False),
        sa.Column("idle_seconds", sa.BigInteger(), nullable=False),
        sa.Column("high_percent", sa.Integer(), nullable=False),
        sa.Column("low_percent", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("disk_free_bytes", sa.BigInteger(), nullable=True),
        sa.Column("problem", sa.Text(), nullable=True),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("next_attempt", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["site_id"], ["site.id"], name=op.f("fk_volume_site_id_site")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_volume")),
        sa.UniqueConstraint("name", name=op.f("uq_volume_name")),
        sa.UniqueConstraint("site_id", "path", name=op.f("uq_volume_site_id_path")),
    )
    op.create_index(op.f("ix_volume_site_id"), "volume", ["site_id"], unique=False)


def create_artifact() -> None:
    op.create_table(
        "artifact",
        sa.Column("run_id", sa.String(length=32), nullable=False),
        sa.Column("path", sa.String(length=1000), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_artifact_run_id_run"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", "path", name=op.f("pk_artifact")),
    )


def create_commit() -> None:
    op.create_table(
        "commit_",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("dataset_id", sa.String(length=32), nullable=False),
        sa.Column("tree", sa.String(length=64), nullable=False),
        sa.Column("parents", sa.JSON(), nullable=False),
        sa.Column("author", sa.String(length=63), nullable=False),
        sa.Column("time", sa.DateTime(timezone=True), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("files", sa.BigInteger(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("lineage", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["dataset_id"], ["dataset.id"], name=op.f("fk_commit__dataset_id_dataset")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_commit_")),
    )
    op.create_index(op.f("ix_commit__dataset_id"), "commit_", ["dataset_id"], unique=False)
    op.create_index(op.f("ix_commit__time"), "commit_", ["time"], unique=False)


def create_eviction() -> None:
    op.create_table(
        "eviction",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("volume_id", sa.String(length=32), nullable=False),
        sa.Column("project_id", sa.String(length=32), nullable=False),
        sa.Column("dataset_id", sa.String(length=32), nullable=False),
        sa.Column("commit_id", sa.String(length=64), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_eviction_project_id_project"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["volume_id"], ["volume.id"], name=op.f("fk_eviction_volume_id_volume"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_eviction")),
    )
    op.create_index(op.f("ix_eviction_at"), "eviction", ["at"], unique=False)
    op.create_index(op.f("ix_eviction_project_id"), "eviction", ["project_id"], unique=False)
    op.create_index(op.f("ix_eviction_volume_id"), "eviction", ["volume_id"], unique=False)


def create_metric() -> None:
    op.create_table(
        "metric",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("run_id", sa.String(length=32), nullable=False),
        sa.Column("key", sa.String(length=250), nullable=False),
        sa.Column("newest", sa.Double(), nullable=True),
        sa.Column("newest_step", sa.BigInteger(), nullable=False),
        sa.Column("points", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_metric_run_id_run"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_metric")),
        sa.UniqueConstraint("run_id", "key", name=op.f("uq_metric_run_id_key")),
    )


def create_node() -> None:
    op.create_table(
        "node",
        sa.Column("agent_id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("cpus", sa.Integer(), nullable=False),
        sa.Column("memory_bytes", sa.BigInteger(), nullable=False),
        sa.Column("gpus", sa.Integer(), nullable=False),
        sa.Column("gpu_model", sa.String(length=200), nullable=False),
        sa.Column("declared", sa.Boolean(), nullable=False),
        sa.Column("labels", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["agent_id"], ["agent.id"], name=op.f("fk_node_agent_id_agent"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("agent_id", "name", name=op.f("pk_node")),
    )


def create_pack() -> None:
    op.create_table(
        "pack",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("project_id", sa.String(length=32), nullable=False),
        sa.Column("upload_id", sa.String(length=32), nullable=True),
        sa.Column("owner", sa.String(length=80), nullable=False),
        sa.Column("state", sa.String(length=10), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("blobs", sa.Integer(), nullable=False),
        sa.Column("promised_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("verified_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_pack_project_id_project"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["upload_id"], ["upload.id"], name=op.f("fk_pack_upload_id_upload")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_pack")),
    )
    op.create_index(op.f("ix_pack_project_id"), "pack", ["project_id"], unique=False)
    op.create_index(op.f("ix_pack_upload_id"), "pack", ["upload_id"], unique=False)


def create_record() -> None:
    op.create_table(
        "record",
        sa.Column("dataset_id", sa.String(length=32), nullable=False),
        sa.Column("n", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("ref_name", sa.String(length=127), nullable=True),
        sa.Column("reserved_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["dataset_id"], ["dataset.id"], name=op.f("fk_record_dataset_id_dataset"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("dataset_id", "n", name=op.f("pk_record")),
        sa.UniqueConstraint("dataset_id", "ref_name", name=op.f("uq_record_dataset_id_ref_name")),
    )


def create_run_writer() -> None:
    op.create_table(
        "run_writer",
        sa.Column("run_id", sa.String(length=32), nullable=False),
        sa.Column("writer", sa.String(length=64), nullable=False),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_run_writer_run_id_run"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", "writer", name=op.f("pk_run_writer")),
    )


def create_blob() -> None:
    op.create_table(
        "blob",
        sa.Column("project_id", sa.String(length=32), nullable=False),
        sa.Column("digest", sa.LargeBinary(length=32), nullable=False),
        sa.Column("pack_id", sa.String(length=32), nullable=False),
        sa.Column("offset", sa.BigInteger(), nullable=False),
        sa.Column("stored", sa.BigInteger(), nullable=False),
        sa.Column("raw", sa.BigInteger(), nullable=False),
        sa.Column("encoding", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["pack_id"], ["pack.id"], name=op.f("fk_blob_pack_id_pack"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_blob_project_id_project"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("project_id", "digest", "pack_id", name=op.f("pk_blob")),
        sqlite_with_rowid=False,
    )
    op.create_index(op.f("ix_blob_pack_id"), "blob", ["pack_id"], unique=False)


def create_cached_commit() -> None:
    op.create_table(
        "cached_commit",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("volume_id", sa.String(length=32), nullable=False),
        sa.Column("project_id", sa.String(length=32), nullable=False),
        sa.Column("dataset_id", sa.String(length=32), nullable=False),
        sa.Column("commit_id", sa.String(length=64), nullable=False),
        sa.Column("state", sa.String(length=10), nullable=False),
        sa.Column("attempt", sa.BigInteger(), nullable=False),
        sa.Column("reserved_bytes", sa.BigInteger(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("files", sa.BigInteger(), nullable=False),
        sa.Column("done_bytes", sa.BigInteger(), nullable=False),
        sa.Column("done_files", sa.BigInteger(), nullable=False),
        sa.Column("requested_by", sa.String(length=63), nullable=False),
        sa.Column("requested_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ready_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("idle_seconds", sa.BigInteger(), nullable=True),
        sa.Column("pinned", sa.Boolean(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("problem", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["commit_id"], ["commit_.id"], name=op.f("fk_cached_commit_commit_id_commit_")),
        sa.ForeignKeyConstraint(["dataset_id"], ["dataset.id"], name=op.f("fk_cached_commit_dataset_id_dataset")),
        sa.ForeignKeyConstraint(["project_id"], ["project.id"], name=op.f("fk_cached_commit_project_id_project")),
        sa.ForeignKeyConstraint(["volume_id"], ["volume.id"], name=op.f("fk_cached_commit_volume_id_volume")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_cached_commit")),
        sa.UniqueConstraint("volume_id", "commit_id", name=op.f("uq_cached_commit_volume_id_commit_id")),
    )
    op.create_index(op.f("ix_cached_commit_dataset_id"), "cached_commit", ["dataset_id"], unique=False)
    op.create_index(op.f("ix_cached_commit_project_id"), "cached_commit", ["project_id"], unique=False)
    op.create_index(op.f("ix_cached_commit_volume_id"), "cached_commit", ["volume_id"], unique=False)


def create_job() -> None:
    op.create_table(
        "job",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("project_id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=63), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("command", sa.JSON(), nullable=False),
        sa.Column("env", sa.JSON(), nullable=False),
        sa.Column("cpu", sa.Integer(), nullable=False),
        sa.Column("memory_bytes", sa.BigInteger(), nullable=False),
        sa.Column("gpu_hundredths", sa.Integer(), nullable=False),
        sa.Column("image", sa.String(length=300), nullable=True),
        sa.Column("code_commit", sa.String(length=64), nullable=True),
        sa.Column("inputs", sa.JSON(), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("reasons", sa.JSON(), nullable=False),
        sa.Column("run_id", sa.String(length=32), nullable=False),
        sa.Column("created_by", sa.String(length=63), nullable=False),
        sa.Column("stop_requested_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("queued_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("placed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("filled_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("exited_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("exit_code", sa.Integer(), nullable=True),
        sa.Column("signal", sa.Integer(), nullable=True),
        sa.Column("problem", sa.Text(), nullable=True),
        sa.Column("output_commit", sa.String(length=64), nullable=True),
        sa.Column("placement_id", sa.String(length=32), nullable=True),
        sa.Column("compute", sa.String(length=63), nullable=True),
        sa.Column("node", sa.String(length=200), nullable=True),
        sa.ForeignKeyConstraint(["code_commit"], ["commit_.id"], name=op.f("fk_job_code_commit_commit_")),
        sa.ForeignKeyConstraint(["output_commit"], ["commit_.id"], name=op.f("fk_job_output_commit_commit_")),
        sa.ForeignKeyConstraint(["project_id"], ["project.id"], name=op.f("fk_job_project_id_project")),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_job_run_id_run")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_job")),
        sa.UniqueConstraint("project_id", "name", "number", name=op.f("uq_job_project_id_name_number")),
    )
    op.create_index(op.f("ix_job_project_id"), "job", ["project_id"], unique=False)
    op.create_index(op.f("ix_job_queued_at"), "job", ["queued_at"], unique=False)
    op.create_index(op.f("ix_job_run_id"), "job", ["run_id"], unique=False)
    op.create_index("ix_job_state", "job", ["state"], unique=False)
    op.create_index(
        "uq_job_name_living",
        "job",
        ["project_id", "name"],
        unique=True,
        sqlite_where=sa.text("ended_at IS NULL"),
        postgresql_where=sa.text("ended_at IS NULL"),
    )


def create_metric_point() -> None:
    op.create_table(
        "metric_point",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("metric_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("step", sa.BigInteger(), nullable=False),
        sa.Column("value", sa.Double(), nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["metric_id"], ["metric.id"], name=op.f("fk_metric_point_metric_id_metric"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_metric_point")),
    )
    op.create_index("ix_metric_point_metric_id_step", "metric_point", ["metric_id", "step"], unique=False)


def create_page_pack() -> None:
    op.create_table(
        "page_pack",
        sa.Column("project_id", sa.String(length=32), nullable=False),
        sa.Column("page_id", sa.LargeBinary(length=32), nullable=False),
        sa.Column("pack_id", sa.String(length=32), nullable=False),
        sa.ForeignKeyConstraint(["pack_id"], ["pack.id"], name=op.f("fk_page_pack_pack_id_pack"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_page_pack_project_id_project"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("project_id", "page_id", "pack_id", name=op.f("pk_page_pack")),
        sqlite_with_rowid=False,
    )
    op.create_index(op.f("ix_page_pack_pack_id"), "page_pack", ["pack_id"], unique=False)


def create_ref() -> None:
    op.create_table(
        "ref",
        sa.Column("dataset_id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=127), nullable=False),
        sa.Column("type", sa.String(length=10), nullable=False),
        sa.Column("commit_id", sa.String(length=64), nullable=False),
        sa.Column("moved_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["commit_id"], ["commit_.id"], name=op.f("fk_ref_commit_id_commit_")),
        sa.ForeignKeyConstraint(
            ["dataset_id"], ["dataset.id"], name=op.f("fk_ref_dataset_id_dataset"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("dataset_id", "name", name=op.f("pk_ref")),
    )
    op.create_index(op.f("ix_ref_commit_id"), "ref", ["commit_id"], unique=False)


def create_lease() -> None:
    op.create_table(
        "lease",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("cached_id", sa.String(length=32), nullable=False),
        sa.Column("job_id", sa.String(length=32), nullable=True),
        sa.Column("user_id", sa.String(length=32), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["cached_id"], ["cached_commit.id"], name=op.f("fk_lease_cached_id_cached_commit"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["job_id"], ["job.id"], name=op.f("fk_lease_job_id_job"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user_account.id"], name=op.f("fk_lease_user_id_user_account"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_lease")),
    )
    op.create_index(op.f("ix_lease_cached_id"), "lease", ["cached_id"], unique=False)
    op.create_index(op.f("ix_lease_job_id"), "lease", ["job_id"], unique=False)
    op.create_index(op.f("ix_lease_user_id"), "lease", ["user_id"], unique=False)


def create_placement() -> None:
    op.create_table(
        "placement",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("job_id", sa.String(length=32), nullable=False),
        sa.Column("agent_id", sa.String(length=32), nullable=False),
        sa.Column("node", sa.String(length=200), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("valid_seconds", sa.Integer(), nullable=False),
        sa.Column("gpu_indices", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("renewed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["agent_id"], ["agent.id"], name=op.f("fk_placement_agent_id_agent")),
        sa.ForeignKeyConstraint(["job_id"], ["job.id"], name=op.f("fk_placement_job_id_job"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_placement")),
    )
    op.create_index(op.f("ix_placement_agent_id"), "placement", ["agent_id"], unique=False)
    op.create_index(op.f("ix_placement_job_id"), "placement", ["job_id"], unique=False)


def create_usage_sample() -> None:
    op.create_table(
        "usage_sample",
        sa.Column("job_id", sa.String(length=32), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("cpu_percent", sa.Double(), nullable=False),
        sa.Column("memory_bytes", sa.BigInteger(), nullable=False),
        sa.Column("read_bytes", sa.BigInteger(), nullable=False),
        sa.Column("write_bytes", sa.BigInteger(), nullable=False),
        sa.Column("gpu_percent", sa.Double(), nullable=True),
        sa.Column("gpu_memory_bytes", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["job_id"], ["job.id"], name=op.f("fk_usage_sample_job_id_job"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_id", "at", name=op.f("pk_usage_sample")),
    )


def create_token() -> None:
    op.create_table(
        "token",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("kind", sa.String(length=10), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("hash", sa.LargeBinary(length=32), nullable=False),
        sa.Column("user_id", sa.String(length=32), nullable=True),
        sa.Column("agent_id", sa.String(length=32), nullable=True),
        sa.Column("placement_id", sa.String(length=32), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_used_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["agent_id"], ["agent.id"], name=op.f("fk_token_agent_id_agent"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["placement_id"], ["placement.id"], name=op.f("fk_token_placement_id_placement"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user_account.id"], name=op.f("fk_token_user_id_user_account"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_token")),
        sa.UniqueConstraint("hash", name=op.f("uq_token_hash")),
    )
    op.create_index(op.f("ix_token_agent_id"), "token", ["agent_id"], unique=False)
    op.create_index(op.f("ix_token_placement_id"), "token", ["placement_id"], unique=False)
    op.create_index(op.f("ix_token_user_id"), "token", ["user_id"], unique=False)
