"""Flows with their versions, runs with their steps, and what steps have made before."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0032"
down_revision = "0031"

_LIVING = sa.text("ended_at IS NULL")


def upgrade() -> None:
    op.add_column("job", sa.Column("step_made", sa.JSON(), nullable=True))
    _create_flows()
    _create_runs()
    _create_steps()


def _id(name: str = "id") -> sa.Column[str]:
    return sa.Column(name, sa.String(32), nullable=False)


def _time(name: str, *, nullable: bool = False) -> sa.Column[object]:
    return sa.Column(name, sa.DateTime(timezone=True), nullable=nullable)


def _create_flows() -> None:
    op.create_table(
        "flow",
        _id(),
        _id("project_id"),
        sa.Column("name", sa.String(63), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("newest", sa.Integer(), nullable=False),
        sa.Column("created_by", sa.String(63), nullable=False),
        _time("created_at"),
        _time("changed_at"),
        _time("deleted_at", nullable=True),
        sa.ForeignKeyConstraint(["project_id"], ["project.id"], name=op.f("fk_flow_project_id_project")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_flow")),
    )
    op.create_index("ix_flow_project_id", "flow", ["project_id"])
    where = sa.text("deleted_at IS NULL")
    op.create_index(
        "uq_flow_name_living", "flow", ["project_id", "name"], unique=True, sqlite_where=where, postgresql_where=where
    )
    op.create_table(
        "flow_version",
        _id("flow_id"),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("commit_id", sa.String(64), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("steps", sa.Integer(), nullable=False),
        sa.Column("saved_by", sa.String(63), nullable=False),
        _time("saved_at"),
        sa.ForeignKeyConstraint(
            ["flow_id"], ["flow.id"], name=op.f("fk_flow_version_flow_id_flow"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("flow_id", "number", name=op.f("pk_flow_version")),
    )


def _create_runs() -> None:
    op.create_table(
        "flow_run",
        _id(),
        _id("project_id"),
        _id("flow_id"),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("phase", sa.String(20), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("trigger", sa.JSON(), nullable=False),
        sa.Column("trigger_type", sa.String(20), nullable=False),
        sa.Column("params", sa.JSON(), nullable=False),
        sa.Column("options", sa.JSON(), nullable=False),
        sa.Column("pins", sa.JSON(), nullable=False),
        sa.Column("created_by", sa.String(63), nullable=False),
        sa.Column("run_as", sa.String(63), nullable=False),
        _time("created_at"),
        _time("started_at", nullable=True),
        _time("ended_at", nullable=True),
        sa.Column("cancelled_by", sa.String(63), nullable=True),
        sa.Column("published", sa.JSON(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("due", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["project.id"], name=op.f("fk_flow_run_project_id_project")),
        sa.ForeignKeyConstraint(["flow_id"], ["flow.id"], name=op.f("fk_flow_run_flow_id_flow")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_flow_run")),
        sa.UniqueConstraint("flow_id", "number", name=op.f("uq_flow_run_flow_id_number")),
    )
    op.create_index("ix_flow_run_project_id_created_at", "flow_run", ["project_id", "created_at", "id"])
    op.create_index("ix_flow_run_living", "flow_run", ["flow_id"], sqlite_where=_LIVING, postgresql_where=_LIVING)


def _create_steps() -> None:
    op.create_table(
        "flow_step",
        _id(),
        _id("run_id"),
        sa.Column("step", sa.String(63), nullable=False),
        sa.Column("index", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        *(sa.Column(name, sa.JSON(), nullable=False) for name in ("each", "params", "inputs", "outputs")),
        sa.Column("job_id", sa.String(32), nullable=True),
        sa.Column("memo_key", sa.String(64), nullable=True),
        sa.Column("remembered_from", sa.String(200), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        *(_time(name, nullable=True) for name in ("ready_at", "started_at", "ended_at", "expires_at")),
        sa.ForeignKeyConstraint(
            ["run_id"], ["flow_run.id"], name=op.f("fk_flow_step_run_id_flow_run"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_flow_step")),
        sa.UniqueConstraint("run_id", "step", "index", name=op.f("uq_flow_step_run_id_step_index")),
    )
    op.create_index("ix_flow_step_job_id", "flow_step", ["job_id"])
    op.create_index("ix_flow_step_living", "flow_step", ["run_id"], sqlite_where=_LIVING, postgresql_where=_LIVING)
    op.create_table(
        "flow_memo",
        _id("project_id"),
        sa.Column("key", sa.String(64), nullable=False),
        _id("step_id"),
        sa.Column("made_by", sa.String(200), nullable=False),
        sa.Column("outputs", sa.JSON(), nullable=True),
        _time("made_at"),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_flow_memo_project_id_project"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("project_id", "key", name=op.f("pk_flow_memo")),
    )
    op.create_index("ix_flow_memo_step_id", "flow_memo", ["step_id"])
