"""Notifications, the channels they leave by, and what has to be told."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from millpond.db.tables.base import BigId, UtcTime

revision = "0065"
down_revision = "0064"


def upgrade() -> None:
    _notices()
    _notifications()
    _channels()
    op.create_table(
        "notification_alarm",
        sa.Column("key", sa.String(100), nullable=False),
        sa.Column("since", UtcTime(), nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_notification_alarm"),
    )
    op.create_table(
        "smtp_settings",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("host", sa.String(253), nullable=False),
        sa.Column("port", sa.Integer(), nullable=False),
        sa.Column("tls", sa.String(10), nullable=False),
        sa.Column("sender", sa.String(320), nullable=False),
        sa.Column("user", sa.String(320), nullable=True),
        sa.Column("password", sa.LargeBinary(), nullable=True),
        sa.Column("domains", sa.JSON(), nullable=False),
        sa.Column("set_by", sa.String(100), nullable=False),
        sa.Column("set_at", UtcTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_smtp_settings"),
    )


def _notices() -> None:
    op.create_table(
        "notice",
        sa.Column("id", BigId, autoincrement=True, nullable=False),
        sa.Column("kind", sa.String(40), nullable=False),
        sa.Column("at", UtcTime(), nullable=False),
        sa.Column("project_id", sa.String(32), nullable=True),
        sa.Column("subject_id", sa.String(64), nullable=False),
        sa.Column("owner", sa.String(63), nullable=True),
        sa.Column("owner_id", sa.String(32), nullable=True),
        sa.Column("title", sa.String(300), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("link", sa.String(500), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_notice"),
        sa.ForeignKeyConstraint(["project_id"], ["project.id"], name="fk_notice_project_id_project",
                                ondelete="CASCADE"),
    )  # fmt: skip
    op.create_index("ix_notice_project_id", "notice", ["project_id"])


def _notifications() -> None:
    op.create_table(
        "notification",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("user_id", sa.String(32), nullable=False),
        sa.Column("kind", sa.String(40), nullable=False),
        sa.Column("project_id", sa.String(32), nullable=True),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("items", sa.JSON(), nullable=False),
        sa.Column("began_at", UtcTime(), nullable=False),
        sa.Column("at", UtcTime(), nullable=False),
        sa.Column("read_at", UtcTime(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_notification"),
        sa.ForeignKeyConstraint(["user_id"], ["user_account.id"], name="fk_notification_user_id_user_account",
                                ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["project_id"], ["project.id"], name="fk_notification_project_id_project",
                                ondelete="CASCADE"),
    )  # fmt: skip
    op.create_index("ix_notification_project_id", "notification", ["project_id"])
    op.create_index("ix_notification_at", "notification", ["at"])
    op.create_index("ix_notification_user_id_at", "notification", ["user_id", "at", "id"])
    op.create_table(
        "notification_choice",
        sa.Column("user_id", sa.String(32), nullable=False),
        sa.Column("place", sa.String(32), nullable=False),
        sa.Column("kind", sa.String(40), nullable=False),
        sa.Column("whose", sa.String(10), nullable=False),
        sa.PrimaryKeyConstraint("user_id", "place", "kind", name="pk_notification_choice"),
        sa.ForeignKeyConstraint(["user_id"], ["user_account.id"], name="fk_notification_choice_user_id_user_account",
                                ondelete="CASCADE"),
    )  # fmt: skip


def _channels() -> None:
    op.create_table(
        "notification_channel",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("user_id", sa.String(32), nullable=True),
        sa.Column("project_id", sa.String(32), nullable=True),
        sa.Column("name", sa.String(63), nullable=False),
        sa.Column("type", sa.String(10), nullable=False),
        sa.Column("shown", sa.String(400), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=True),
        sa.Column("kinds", sa.JSON(), nullable=False),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.Column("created_by", sa.String(63), nullable=False),
        sa.Column("tested_at", UtcTime(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_notification_channel"),
        sa.ForeignKeyConstraint(["user_id"], ["user_account.id"], name="fk_notification_channel_user_id_user_account",
                                ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["project_id"], ["project.id"], name="fk_notification_channel_project_id_project",
                                ondelete="CASCADE"),
        sa.UniqueConstraint("user_id", "name", name="uq_notification_channel_user_id_name"),
        sa.UniqueConstraint("project_id", "name", name="uq_notification_channel_project_id_name"),
    )  # fmt: skip
    op.create_table(
        "notification_delivery",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("channel_id", sa.String(32), nullable=False),
        sa.Column("state", sa.String(10), nullable=False),
        sa.Column("items", sa.JSON(), nullable=False),
        sa.Column("counts", sa.JSON(), nullable=False),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.Column("due_at", UtcTime(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("tried_at", UtcTime(), nullable=True),
        sa.Column("ended_at", UtcTime(), nullable=True),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("problem", sa.Text(), nullable=True),
        sa.Column("runner", sa.String(32), nullable=True),
        sa.Column("runner_until", UtcTime(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_notification_delivery"),
        sa.ForeignKeyConstraint(["channel_id"], ["notification_channel.id"],
                                name="fk_notification_delivery_channel_id_notification_channel", ondelete="CASCADE"),
    )  # fmt: skip
    op.create_index("ix_notification_delivery_ended_at", "notification_delivery", ["ended_at"])
    op.create_index("ix_notification_delivery_state_due_at", "notification_delivery", ["state", "due_at"])
    op.create_index(
        "ix_notification_delivery_channel_id_created_at", "notification_delivery", ["channel_id", "created_at"]
    )
