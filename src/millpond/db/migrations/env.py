"""Run by Alembic for each command: works on the connection `db/migrate.py` hands over, inside its transaction."""

from __future__ import annotations

from alembic import context

from millpond.db.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    # SQLite cannot alter most of a table: later revisions copy it.
    render_as_batch=True,
    compare_type=True,
)
context.run_migrations()
