"""Audit entries say where from and what changed, and the database itself keeps them from being changed or removed."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0064"
down_revision = "0063"

# As db/tables/audit_guard.py has them today; a migration keeps what it was released with.
_REFUSED = "audit entries cannot be changed, and only the retention rule removes them"
_IS_DUE = "EXISTS (SELECT 1 FROM server WHERE audit_remove_before IS NOT NULL AND OLD.at < audit_remove_before)"

_SQLITE = (
    f"CREATE TRIGGER audit_no_update BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, '{_REFUSED}'); END",
    f"CREATE TRIGGER audit_no_delete BEFORE DELETE ON audit WHEN NOT {_IS_DUE} "
    f"BEGIN SELECT RAISE(ABORT, '{_REFUSED}'); END",
)
_POSTGRES = (
    "CREATE FUNCTION audit_refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
    f"IF TG_OP = 'DELETE' THEN IF {_IS_DUE} THEN RETURN OLD; END IF; END IF; "
    f"RAISE EXCEPTION '{_REFUSED}'; END $$",
    "CREATE TRIGGER audit_no_change BEFORE UPDATE OR DELETE ON audit FOR EACH ROW EXECUTE FUNCTION audit_refuse()",
    "CREATE TRIGGER audit_no_truncate BEFORE TRUNCATE ON audit FOR EACH STATEMENT EXECUTE FUNCTION audit_refuse()",
)


def upgrade() -> None:
    for column in (
        sa.Column("address", sa.String(64), nullable=True),
        sa.Column("via", sa.String(300), nullable=True),
        sa.Column("request", sa.String(64), nullable=True),
        sa.Column("before", sa.JSON(), nullable=True),
        sa.Column("after", sa.JSON(), nullable=True),
    ):
        op.add_column("audit", column)
    for name in ("actor", "action", "subject", "address"):
        op.create_index(f"ix_audit_{name}_id", "audit", [name, "id"])
    op.add_column("server", sa.Column("audit_keep_seconds", sa.BigInteger(), nullable=True))
    op.add_column("server", sa.Column("audit_remove_before", sa.DateTime(timezone=True), nullable=True))
    op.create_table(
        "audit_forward",
        sa.Column("target", sa.String(64), nullable=False),
        sa.Column("sent_id", sa.BigInteger(), nullable=False),
        sa.Column("sent_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("failing_since", sa.DateTime(timezone=True), nullable=True),
        sa.Column("problem", sa.String(300), nullable=True),
        sa.PrimaryKeyConstraint("target", name=op.f("pk_audit_forward")),
    )
    is_sqlite = op.get_context().dialect.name == "sqlite"
    for statement in _SQLITE if is_sqlite else _POSTGRES:
        op.execute(statement)
