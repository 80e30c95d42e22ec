"""A database as two kinds of short transaction: `read()` and `write()`. SQLite and PostgreSQL behave alike here.

Rules: no network call inside either; a write transaction is short; values leave it, rows do not.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, OperationalError, SQLAlchemyError
from sqlalchemy.pool import ConnectionPoolEntry, QueuePool

from millpond.db import request_keys
from millpond.errors import BadRequest

if TYPE_CHECKING:
    import psycopg


# Connections that are kept, and those beside them while many are needed at once.
_POOL, _OVERFLOW = 16, 32
_PATIENCE = {
    "connect_timeout": 5, "keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}  # fmt: skip
# How long a write of SQLite waits for others.
_TURN_SECONDS = 30


class Database:
    """Thread-safe. On SQLite a write takes the write lock at once (BEGIN IMMEDIATE), so it never fails half-way.

    Writes of this process wait for each other here: SQLite would look again and again whether the lock is free, with
    longer and longer pauses, and let in whoever happens to look first.
    """

    def __init__(self, url: str) -> None:
        parsed = _parse(url)
        self.is_sqlite = parsed.get_backend_name() == "sqlite"
        self.engine: Engine = _sqlite_engine(parsed) if self.is_sqlite else _postgres_engine(parsed)
        self._turn = threading.Lock()

        driver: Any = self.engine.dialect.dbapi
        # What is raised while the database is away.
        self.errors: tuple[type[Exception], ...] = (SQLAlchemyError, OSError, driver.Error)
        # Hears of each transaction that ended: `read` or `write`, and the seconds it took.
        self.told: Callable[[str, float], None] = _nobody

    @contextmanager
    def read(self, within: Connection | None = None) -> Iterator[Connection]:
        """A snapshot: everything read inside belongs to one moment; to that of `within`, where one goes on already."""
        if within is not None:
            yield within
            return
        began = time.perf_counter()
        with self.engine.connect() as tx:
            if not self.is_sqlite:
                # Every statement of PostgreSQL sees a moment of its own otherwise.
                tx = tx.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            with tx.begin():
                yield tx
        self.told("read", time.perf_counter() - began)

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """All or nothing, durable when the block ends."""
        began = time.perf_counter()
        with self.in_turn(), self.engine.connect() as tx:
            if self.is_sqlite:
                tx = tx.execution_options(millpond_write=True)
            pending = request_keys.PENDING.get()
            with tx.begin():
                if pending is not None and not pending.written:
                    request_keys.insert(tx, pending)
                yield tx
            if pending is not None:
                pending.written = True
        self.told("write", time.perf_counter() - began)

    @property
    def connections(self) -> tuple[int, int]:
        """How many connections are in use in this process, and how many there may be."""
        pool = self.engine.pool
        return (pool.checkedout(), _POOL + _OVERFLOW) if isinstance(pool, QueuePool) else (0, 0)

    @contextmanager
    def in_turn(self) -> Iterator[None]:
        """Before a connection is taken to write, so that those who wait hold none."""
        if not self.is_sqlite:
            yield
            return
        if not self._turn.acquire(timeout=_TURN_SECONDS):
            locked = sqlite3.OperationalError("database is locked")
            raise OperationalError("BEGIN IMMEDIATE", None, locked)
        try:
            yield
        finally:
            self._turn.release()

    def connection_alone(self) -> psycopg.Connection[Any]:
        """A connection to PostgreSQL outside the pool, for what lasts; each statement is a transaction. Close it."""
        import psycopg  # noqa: PLC0415 — an extra of the installation

        arguments, options = self.engine.dialect.create_connect_args(self.engine.url)
        return psycopg.connect(*arguments, **{**_patience(self.engine.url), **options}, autocommit=True)

    def empty_log(self) -> None:
        """SQLite: move what was written into the file, so that nothing of before is left in the log beside it."""
        if self.is_sqlite:
            with self.engine.connect() as connection:
                connection.exec_driver_sql("COMMIT")  # the log is emptied outside of transactions only
                connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
                connection.exec_driver_sql("BEGIN")

    def close(self) -> None:
        self.engine.dispose()


def _nobody(kind: str, seconds: float) -> None:
    pass


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


def _postgres_engine(url: URL) -> Engine:
    return create_engine(url, pool_size=_POOL, max_overflow=_OVERFLOW, pool_pre_ping=True, connect_args=_patience(url))


def _patience(url: URL) -> dict[str, Any]:
    """How soon a database that does not answer is given up, unless its URL says otherwise: seconds, not minutes."""
    return {name: value for name, value in _PATIENCE.items() if name not in url.query}


def _sqlite_engine(url: URL) -> Engine:
    arguments = {"timeout": _TURN_SECONDS, "check_same_thread": False}
    engine = create_engine(url, pool_size=_POOL, max_overflow=_OVERFLOW, connect_args=arguments)

    @event.listens_for(engine, "connect")
    def _connect(connection: sqlite3.Connection, _entry: ConnectionPoolEntry) -> None:
        connection.isolation_level = None  # we say BEGIN ourselves
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")  # a commit survives a power cut
        connection.execute("PRAGMA foreign_keys=ON")
        connection.execute(f"PRAGMA busy_timeout={_TURN_SECONDS}000")
        # For each of dozens of connections: what is not in it lies in the system's cache of the file.
        connection.execute("PRAGMA cache_size=-2000")
        # The log is written from its beginning again after 4 MB. A file that does not grow is synced in half the time,
        # which is worth more than the pages that are copied more often.
        connection.execute("PRAGMA wal_autocheckpoint=1000")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        options: Any = connection.get_execution_options()
        connection.exec_driver_sql("BEGIN IMMEDIATE" if options.get("millpond_write") else "BEGIN")

    return engine
