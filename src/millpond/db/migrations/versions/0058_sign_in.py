"""Single sign-on: providers, rules, identities; what sessions and tokens say of themselves; service accounts."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0058"
down_revision = "0057"

_TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.add_column("server", sa.Column("local_login", sa.Boolean(), nullable=False, server_default=sa.text("true")))
    op.add_column("user_account", sa.Column("email", sa.String(320), nullable=True))
    op.add_column(
        "user_account", sa.Column("is_service", sa.Boolean(), nullable=False, server_default=sa.text("false"))
    )
    op.add_column("token", sa.Column("scopes", sa.String(100), nullable=True))
    op.add_column("session", sa.Column("address", sa.String(64), nullable=True))
    op.add_column("session", sa.Column("user_agent", sa.String(300), nullable=True))
    op.add_column("session", sa.Column("last_used_at", _TIME, nullable=True))
    op.add_column("session", sa.Column("provider_id", sa.String(32), nullable=True))
    op.add_column("session", sa.Column("provider_session", sa.String(255), nullable=True))
    op.add_column("session", sa.Column("sign_out", sa.LargeBinary(), nullable=True))
    _create_providers()
    _create_identities()
    op.create_table(
        "device_login",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("hash", sa.LargeBinary(32), nullable=False),
        sa.Column("user_code", sa.String(16), nullable=False),
        sa.Column("machine", sa.String(200), nullable=False),
        sa.Column("address", sa.String(64), nullable=False),
        sa.Column("created_at", _TIME, nullable=False),
        sa.Column("expires_at", _TIME, nullable=False),
        sa.Column("user_id", sa.String(32), nullable=True),
        sa.Column("denied", sa.Boolean(), nullable=False, server_default=sa.text("false")),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user_account.id"], name=op.f("fk_device_login_user_id_user_account"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_device_login")),
        sa.UniqueConstraint("hash", name=op.f("uq_device_login_hash")),
        sa.UniqueConstraint("user_code", name=op.f("uq_device_login_user_code")),
    )
    op.create_index(op.f("ix_device_login_expires_at"), "device_login", ["expires_at"])
    op.create_index(op.f("ix_device_login_user_id"), "device_login", ["user_id"])


def _create_providers() -> None:
    op.create_table(
        "auth_provider",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("name", sa.String(63), nullable=False),
        sa.Column("kind", sa.String(10), nullable=False),
        sa.Column("title", sa.String(200), nullable=False),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.Column("secret", sa.LargeBinary(), nullable=True),
        sa.Column("enabled", sa.Boolean(), nullable=False, server_default=sa.text("true")),
        sa.Column("created_at", _TIME, nullable=False),
        sa.Column("created_by", sa.String(63), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_auth_provider")),
        sa.UniqueConstraint("name", name=op.f("uq_auth_provider_name")),
    )
    op.create_table(
        "auth_rule",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("provider_id", sa.String(32), nullable=True),
        sa.Column("group_name", sa.String(300), nullable=False),
        sa.Column("project_id", sa.String(32), nullable=True),
        sa.Column("role", sa.String(10), nullable=False),
        sa.Column("created_at", _TIME, nullable=False),
        sa.Column("created_by", sa.String(63), nullable=False),
        sa.ForeignKeyConstraint(
            ["provider_id"], ["auth_provider.id"], name=op.f("fk_auth_rule_provider_id_auth_provider"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_auth_rule_project_id_project"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_auth_rule")),
    )  # fmt: skip
    op.create_index(op.f("ix_auth_rule_provider_id"), "auth_rule", ["provider_id"])
    op.create_index(op.f("ix_auth_rule_project_id"), "auth_rule", ["project_id"])


def _create_identities() -> None:
    op.create_table(
        "rule_grant",
        sa.Column("user_id", sa.String(32), nullable=False),
        sa.Column("project_id", sa.String(32), nullable=False),
        sa.Column("provider_id", sa.String(32), nullable=False),
        sa.Column("role", sa.String(10), nullable=False),
        sa.Column("by_hand", sa.String(10), nullable=True),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user_account.id"], name=op.f("fk_rule_grant_user_id_user_account"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("user_id", "project_id", "provider_id", name=op.f("pk_rule_grant")),
    )
    op.create_table(
        "identity",
        sa.Column("issuer", sa.String(500), nullable=False),
        sa.Column("subject", sa.String(300), nullable=False),
        sa.Column("user_id", sa.String(32), nullable=False),
        sa.Column("provider", sa.String(63), nullable=False),
        sa.Column("email", sa.String(320), nullable=False),
        sa.Column("created_at", _TIME, nullable=False),
        sa.Column("used_at", _TIME, nullable=True),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user_account.id"], name=op.f("fk_identity_user_id_user_account"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("issuer", "subject", name=op.f("pk_identity")),
    )
    op.create_index(op.f("ix_identity_user_id"), "identity", ["user_id"])
