"""Brings a database to the revision this version needs, and refuses one that a newer version has used."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from logging import getLogger
from pathlib import Path
from typing import cast

from sqlalchemy import Connection, inspect, text
from sqlalchemy.exc import DBAPIError

from millpond import __version__
from millpond.db.engine import Database
from millpond.errors import SetupError

logger = getLogger(__name__)

# Oldest first; the last is what this version needs. A test compares them with the revisions in migrations/versions.
REVISIONS = tuple(f"{number:04}" for number in range(1, 55))
HEAD = REVISIONS[-1]
_MIGRATIONS = Path(__file__).parent / "migrations"
# Servers that start together on one PostgreSQL migrate one after the other. Any fixed number would do.
_LOCK = 8420


def prepare(db: Database, now: datetime) -> Path | None:
    """Migrate if need be; the copy made beforehand of an older SQLite database, if there was one.

    SetupError for a database whose revision this version does not know. Called twice, it does nothing.
    """
    found = revision_of(db)
    if found == HEAD:
        return None
    if found is not None and found not in REVISIONS:
        raise SetupError(
            f"The database was last used by a newer Millpond: it has revision {found}, "
            f"and version {__version__} knows revisions up to {HEAD}.",
            hint="Install the newer version, or start with another --data-dir.",
            found=found,
            known=HEAD,
        )
    copy = copy_aside(db, found, now) if found is not None else None
    with _migrating(db) as tx:
        if not db.is_sqlite:
            tx.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        upgrade(tx)
    logger.info("database_migrated from=%s to=%s copy=%s", found, HEAD, copy)
    return copy


@contextmanager
def _migrating(db: Database) -> Iterator[Connection]:
    """A write transaction in which SQLite tables can be rebuilt: dropping one must not delete what refers to it.

    SQLite turns foreign keys off outside of transactions only; they are checked before this one ends.
    """
    with db.engine.connect() as tx:
        if not db.is_sqlite:
            with tx.begin():
                yield tx
            return
        driver = cast(sqlite3.Connection, tx.connection.driver_connection)
        driver.execute("PRAGMA foreign_keys=OFF")
        try:
            tx = tx.execution_options(millpond_write=True)
            with tx.begin():
                yield tx
                broken = tx.execute(text("PRAGMA foreign_key_check")).all()
                if broken:
                    raise SetupError(f"The migrated database has {len(broken)} broken references: {broken[0]}.")
        finally:
            driver.execute("PRAGMA foreign_keys=ON")


def revision_of(db: Database) -> str | None:
    """None for an empty database. SetupError for one that does not answer or is no database."""
    try:
        with db.read() as tx:
            return current_revision(tx)
    except DBAPIError as error:
        raise SetupError(
            f"The database {db.engine.url.render_as_string()} cannot be used: {str(error.orig).strip()}",
            hint="Check --db and --data-dir, and that the database server runs.",
        ) from error


def current_revision(tx: Connection) -> str | None:
    """None for an empty database."""
    if not inspect(tx).has_table("alembic_version"):
        return None
    found = tx.scalar(text("SELECT version_num FROM alembic_version"))
    return None if found is None else str(found)


def upgrade(tx: Connection, revision: str = HEAD) -> None:
    """Run the missing revisions in the caller's transaction."""
    # A server whose database is up to date, nearly always, starts without Alembic: 0.2 s and 10 MB less.
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS))
    config.attributes["connection"] = tx
    command.upgrade(config, revision)


def copy_aside(db: Database, revision: str, now: datetime) -> Path | None:
    """A whole copy of an SQLite database beside it. PostgreSQL has backups of its own."""
    file = db.engine.url.database
    if not db.is_sqlite or not file:
        return None
    target = Path(f"{file}.before-{revision}-{now:%Y%m%dT%H%M%SZ}")
    # SQLite's own backup, not a file copy: the newest commits may still be in the write-ahead log.
    source, copy = sqlite3.connect(file), sqlite3.connect(target)
    try:
        source.backup(copy)
    finally:
        source.close()
        copy.close()
    return target
