"""The Alembic environment. A revision is never edited after a release; `db/migrate.py` runs them."""
