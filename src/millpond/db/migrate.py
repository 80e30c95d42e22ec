"""Brings a database to the revision this version needs, and refuses one that a newer version has used."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from logging import getLogger
from pathlib import Path
from typing import cast

from sqlalchemy import Connection, inspect, text
from sqlalchemy.exc import DBAPIError, OperationalError

from millpond import __version__
from millpond.db.engine import Database
from millpond.db.tables import metadata
from millpond.errors import SetupError

logger = getLogger(__name__)

# Oldest first; the last is what this version needs. A test compares them with the revisions in migrations/versions.
REVISIONS = tuple(f"{number:04}" for number in range(1, 66))
HEAD = REVISIONS[-1]
_MIGRATIONS = Path(__file__).parent / "migrations"
# From here on migrations only add what older programs can do without (docs/design/033): a program that knows this
# revision works on every newer database, until one says otherwise (`server.usable_from`).
FIRST_SHARED = "0054"
# Servers that start together on one PostgreSQL migrate one after the other. Any fixed number would do.
_LOCK = 8420
_VERSION = "alembic_version"
_TRIES = 20
_REST_SECONDS = 1.0


def prepare(db: Database, now: datetime) -> Path | None:
    """Migrate if need be; the copy made beforehand of an older SQLite database, if there was one.

    SetupError for a database whose revision this version does not know. Called twice, it does nothing.
    """
    found = revision_of(db)
    if found == HEAD:
        return None
    if found is not None and found not in REVISIONS:
        if _is_usable(db):
            logger.info("database_is_newer revision=%s known=%s", found, HEAD)
            return None
        raise SetupError(
            f"The database was last used by a newer Millpond: it has revision {found}, "
            f"and version {__version__} knows revisions up to {HEAD}.",
            hint="Install the newer version, or start with another --data-dir.",
            found=found,
            known=HEAD,
        )
    copy = copy_aside(db, found, now) if found is not None else None
    _upgrade_alone(db)
    logger.info("database_migrated from=%s to=%s copy=%s", found, HEAD, copy)
    return copy


def is_usable_by_us(db: Database) -> bool:
    """True if this program may use the database as it is."""
    found = revision_of(db)
    return found == HEAD or (found is not None and found not in REVISIONS and _is_usable(db))


def _is_usable(db: Database) -> bool:
    """Whether a database of a newer program serves this one, too."""
    with db.read() as tx:
        columns = {column["name"] for column in inspect(tx).get_columns("server")}
        needed = tx.scalar(text("SELECT usable_from FROM server")) if "usable_from" in columns else HEAD + "+"
    return str(needed or FIRST_SHARED) <= HEAD


def _upgrade_alone(db: Database) -> None:
    """One server at a time. Servers of the version before may be running: none of them is held up for long."""
    for left in range(_TRIES, -1, -1):
        try:
            with _migrating(db) as tx:
                if not db.is_sqlite:
                    tx.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
                    # A change of a table waits for whoever reads it, and everybody else then waits for the change.
                    tx.execute(text("SET LOCAL lock_timeout = '3s'"))
                revision = current_revision(tx)
                if revision is None:
                    begin(tx)
                elif revision != HEAD:
                    upgrade(tx)
            return
        except OperationalError as error:
            if not left or not _is_lock_timeout(error):
                raise
            logger.info("migration_waits tries_left=%d", left)
            time.sleep(_REST_SECONDS)


def _is_lock_timeout(error: OperationalError) -> bool:
    return getattr(error.orig, "sqlstate", None) == "55P03"


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


@contextmanager
def filling(db: Database, revision: str) -> Iterator[Connection]:
    """A transaction on an empty database that got the tables of `revision`; migrated to this version's when it ends."""
    if revision not in REVISIONS:
        raise SetupError(
            f"That is from a newer Millpond: its database has revision {revision}, "
            f"and version {__version__} knows revisions up to {HEAD}.",
            hint="Install the newer version.",
        )
    with _migrating(db) as tx:
        if revision == HEAD:
            begin(tx)
        else:
            upgrade(tx, revision)
        yield tx
        if revision != HEAD:
            upgrade(tx)


def begin(tx: Connection) -> None:
    """This version's tables on an empty database: the same as by all migrations, in a tenth of the time."""
    metadata.create_all(tx, checkfirst=False)
    stamp(tx)


def stamp(tx: Connection) -> None:
    """Note on a database without a revision that it has this version's tables."""
    tx.execute(text(f"CREATE TABLE {_VERSION} (version_num VARCHAR(32) NOT NULL PRIMARY KEY)"))
    tx.execute(text(f"INSERT INTO {_VERSION} VALUES (:revision)"), {"revision": HEAD})


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
    if not inspect(tx).has_table(_VERSION):
        return None
    found = tx.scalar(text(f"SELECT version_num FROM {_VERSION}"))
    return None if found is None else str(found)


def upgrade(tx: Connection, revision: str = HEAD) -> None:
    """Run the missing revisions in the caller's transaction."""
    # A server whose database is new or up to date, nearly always, starts without Alembic: 0.2 s and 10 MB less.
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
