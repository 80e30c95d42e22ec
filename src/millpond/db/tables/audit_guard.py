"""What keeps audit entries from being changed or removed: triggers of the database, as the migrations make them."""

from __future__ import annotations

from typing import Any

from sqlalchemy import DDL, Table, event

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


def guard(table: Table) -> None:
    """Make the triggers whenever the table is made."""
    for database, statements in (("sqlite", _SQLITE), ("postgresql", _POSTGRES)):
        for statement in statements:
            make: Any = DDL  # without types of its own
            event.listen(table, "after_create", make(statement).execute_if(dialect=database))
