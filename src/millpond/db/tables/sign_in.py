"""Single sign-on: providers, rules from groups to roles, linked identities; command lines that wait for a person."""

from __future__ import annotations

from sqlalchemy import JSON, Boolean, Column, ForeignKey, LargeBinary, String, Table, text

from millpond.db.tables.base import id_column, metadata, ref_column, time_column

auth_provider = Table(
    "auth_provider",
    metadata,
    id_column(),
    Column("name", String(63), nullable=False, unique=True),
    Column("kind", String(10), nullable=False),
    Column("title", String(200), nullable=False),
    Column("settings", JSON, nullable=False),
    Column("secret", LargeBinary, nullable=True),  # sealed
    Column("enabled", Boolean, nullable=False, server_default=text("true")),
    time_column("created_at"),
    Column("created_by", String(63), nullable=False),
)

auth_rule = Table(
    "auth_rule",
    metadata,
    id_column(),
    ref_column("provider_id", "auth_provider.id", nullable=True, cascade=True),
    Column("group_name", String(300), nullable=False),
    # Null: administrators of the site.
    ref_column("project_id", "project.id", nullable=True, cascade=True),
    Column("role", String(10), nullable=False),
    time_column("created_at"),
    Column("created_by", String(63), nullable=False),
)

# What rules gave at the last login. An empty project stands for the site.
rule_grant = Table(
    "rule_grant",
    metadata,
    Column("user_id", String(32), ForeignKey("user_account.id", ondelete="CASCADE"), primary_key=True),
    Column("project_id", String(32), primary_key=True),
    Column("provider_id", String(32), primary_key=True),
    Column("role", String(10), nullable=False),
    # The role given by hand; null: none.
    Column("by_hand", String(10), nullable=True),
)

# Outlives its provider: one that is added again knows its people.
identity = Table(
    "identity",
    metadata,
    Column("issuer", String(500), primary_key=True),
    Column("subject", String(300), primary_key=True),
    ref_column("user_id", "user_account.id", cascade=True),
    Column("provider", String(63), nullable=False),
    Column("email", String(320), nullable=False),
    time_column("created_at"),
    time_column("used_at", nullable=True),
)

device_login = Table(
    "device_login",
    metadata,
    id_column(),
    Column("hash", LargeBinary(32), nullable=False, unique=True),
    Column("user_code", String(16), nullable=False, unique=True),
    Column("machine", String(200), nullable=False),
    Column("address", String(64), nullable=False),
    time_column("created_at"),
    time_column("expires_at", index=True),
    ref_column("user_id", "user_account.id", nullable=True, cascade=True),
    Column("denied", Boolean, nullable=False, server_default=text("false")),
)
