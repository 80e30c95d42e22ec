"""What people are told of: notices that wait for it, notifications, channels, deliveries, and what each wants."""

from __future__ import annotations

from sqlalchemy import JSON, Column, ForeignKey, Index, Integer, LargeBinary, String, Table, Text, UniqueConstraint

from millpond.db.tables.base import BigId, id_column, metadata, ref_column, time_column

# Written with what happened; removed with what is made of it.
notice = Table(
    "notice",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("kind", String(40), nullable=False),
    time_column("at"),
    Column("project_id", String(32), ForeignKey("project.id", ondelete="CASCADE"), nullable=True, index=True),
    Column("subject_id", String(64), nullable=False),
    # Whose it is: the name of a user, or the id of one.
    Column("owner", String(63), nullable=True),
    Column("owner_id", String(32), nullable=True),
    Column("title", String(300), nullable=False),
    Column("text", Text, nullable=False),
    Column("link", String(500), nullable=False),
)

notification = Table(
    "notification",
    metadata,
    id_column(),
    ref_column("user_id", "user_account.id", cascade=True, index=False),
    Column("kind", String(40), nullable=False),
    Column("project_id", String(32), ForeignKey("project.id", ondelete="CASCADE"), nullable=True, index=True),
    Column("count", Integer, nullable=False),
    # The first of what it stands for (model/notification.py: NotificationItem).
    Column("items", JSON, nullable=False),
    time_column("began_at"),
    time_column("at", index=True),
    time_column("read_at", nullable=True),
    Index("ix_notification_user_id_at", "user_id", "at", "id"),
)

# By user, kind and place: a project, or the empty text for everywhere else.
notification_choice = Table(
    "notification_choice",
    metadata,
    Column("user_id", String(32), ForeignKey("user_account.id", ondelete="CASCADE"), primary_key=True),
    Column("place", String(32), primary_key=True),
    Column("kind", String(40), primary_key=True),
    Column("whose", String(10), nullable=False),
)

# Of a user or of a project.
notification_channel = Table(
    "notification_channel",
    metadata,
    id_column(),
    Column("user_id", String(32), ForeignKey("user_account.id", ondelete="CASCADE"), nullable=True),
    Column("project_id", String(32), ForeignKey("project.id", ondelete="CASCADE"), nullable=True),
    Column("name", String(63), nullable=False),
    Column("type", String(10), nullable=False),
    Column("shown", String(400), nullable=False),
    Column("sealed", LargeBinary, nullable=True),
    Column("kinds", JSON, nullable=False),
    time_column("created_at"),
    Column("created_by", String(63), nullable=False),
    time_column("tested_at", nullable=True),
    UniqueConstraint("user_id", "name"),
    UniqueConstraint("project_id", "name"),
)

notification_delivery = Table(
    "notification_delivery",
    metadata,
    id_column(),
    ref_column("channel_id", "notification_channel.id", cascade=True, index=False),
    Column("state", String(10), nullable=False),
    Column("items", JSON, nullable=False),
    # [kind, id of the project or null, how many] of each.
    Column("counts", JSON, nullable=False),
    time_column("created_at"),
    time_column("due_at"),
    Column("attempts", Integer, nullable=False),
    time_column("tried_at", nullable=True),
    time_column("ended_at", nullable=True, index=True),
    Column("status", Integer, nullable=True),
    Column("problem", Text, nullable=True),
    # The server that sends it just now, and until when nobody else may.
    Column("runner", String(32), nullable=True),
    time_column("runner_until", nullable=True),
    Index("ix_notification_delivery_state_due_at", "state", "due_at"),
    Index("ix_notification_delivery_channel_id_created_at", "channel_id", "created_at"),
)

# What is wrong at the moment, and was told of: told again only after it was well.
notification_alarm = Table(
    "notification_alarm",
    metadata,
    Column("key", String(100), primary_key=True),
    time_column("since"),
)

# One row, or none.
smtp_settings = Table(
    "smtp_settings",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("host", String(253), nullable=False),
    Column("port", Integer, nullable=False),
    Column("tls", String(10), nullable=False),
    Column("sender", String(320), nullable=False),
    Column("user", String(320), nullable=True),
    Column("password", LargeBinary, nullable=True),
    Column("domains", JSON, nullable=False),
    Column("set_by", String(100), nullable=False),
    time_column("set_at"),
)
