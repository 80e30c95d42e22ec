"""Tables, migrations and queries by noun, on SQLite and PostgreSQL."""
