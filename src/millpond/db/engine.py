"""A database as two kinds of short transaction: `read()` and `write()`. SQLite and PostgreSQL behave alike here.

Rules: no network call inside either; a write transaction is short; values leave it, rows do not.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import ConnectionPoolEntry

from millpond.errors import BadRequest


class Database:
    """Thread-safe. On SQLite a write takes the write lock at once (BEGIN IMMEDIATE), so it never fails half-way."""

    def __init__(self, url: str) -> None:
        parsed = _parse(url)
        self.is_sqlite = parsed.get_backend_name() == "sqlite"
        self.engine: Engine = _sqlite_engine(parsed) if self.is_sqlite else create_engine(
            parsed, pool_size=16, max_overflow=32, pool_pre_ping=True
        )  # fmt: skip

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A snapshot: everything read inside belongs to one moment."""
        with self.engine.connect() as tx:
            if not self.is_sqlite:
                # Every statement of PostgreSQL sees a moment of its own otherwise.
                tx = tx.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            with tx.begin():
                yield tx

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """All or nothing, durable when the block ends."""
        with self.engine.connect() as tx:
            if self.is_sqlite:
                tx = tx.execution_options(millpond_write=True)
            with tx.begin():
                yield tx

    def close(self) -> None:
        self.engine.dispose()


def _parse(text: str) -> URL:
    try:
        url = make_url(text)
    except ArgumentError as error:
        raise _not_a_database() from error
    if url.drivername in ("postgres", "postgresql"):
        return url.set(drivername="postgresql+psycopg")
    if url.drivername not in ("sqlite", "postgresql+psycopg"):
        raise _not_a_database()
    return url


def _not_a_database() -> BadRequest:
    """Without the text itself: it may hold a password."""
    return BadRequest("That is not the address of a database.", hint="Write it as postgresql://user@host/database.")


def _sqlite_engine(url: URL) -> Engine:
    engine = create_engine(url, pool_size=16, max_overflow=32, connect_args={"timeout": 30, "check_same_thread": False})

    @event.listens_for(engine, "connect")
    def _connect(connection: sqlite3.Connection, _entry: ConnectionPoolEntry) -> None:
        connection.isolation_level = None  # we say BEGIN ourselves
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")  # a commit survives a power cut
        connection.execute("PRAGMA foreign_keys=ON")
        connection.execute("PRAGMA busy_timeout=30000")
        connection.execute("PRAGMA cache_size=-8000")
        # The log is written from its beginning again after 4 MB. A file that does not grow is synced in half the time,
        # which is worth more than the pages that are copied more often.
        connection.execute("PRAGMA wal_autocheckpoint=1000")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        options: Any = connection.get_execution_options()
        connection.exec_driver_sql("BEGIN IMMEDIATE" if options.get("millpond_write") else "BEGIN")

    return engine
