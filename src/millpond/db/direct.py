"""Statements straight to the driver, for writes that come a thousand times a second.

SQLAlchemy compiles a statement once, for each kind of database; from then on its text and the values go to the driver
without anything in between, which costs more than the database does for a row. Results are plain tuples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from types import TracebackType
from typing import Any, NoReturn

from sqlalchemy import Connection, Dialect
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError

from millpond.db.engine import Database

# A row that was asked for, or None; to be called before the transaction ends.
Answer = Callable[[], tuple[Any, ...] | None]
# Makes a statement, given the `insert` of the database: `ON CONFLICT` has no common form.
Make = Callable[[Any], Any]


class DirectTx:
    """A write transaction at the driver. A context manager: committed with the block, or rolled back.

    PostgreSQL gets statements as a pipeline: an answer is waited for when it is fetched, all others at the end of the
    block. Ask everything that can be asked at once, then fetch.
    """

    def __init__(self, dialect: Dialect, connection: Any) -> None:
        self.dialect = dialect
        self._connection = connection
        self._is_sqlite = dialect.name == "sqlite"
        self._pipeline: AbstractContextManager[object] = nullcontext() if self._is_sqlite else connection.pipeline()

    def cursor(self) -> Any:
        return self._connection.cursor()

    def __enter__(self) -> DirectTx:
        self._do("BEGIN", self._begin)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._do("COMMIT", self._commit)
        else:
            self._do("ROLLBACK", self._roll_back)

    def _begin(self) -> None:
        self._pipeline.__enter__()
        self.cursor().execute("BEGIN IMMEDIATE" if self._is_sqlite else "BEGIN")

    def _commit(self) -> None:
        try:
            self.cursor().execute("COMMIT")
        finally:
            self._pipeline.__exit__(None, None, None)

    def _roll_back(self) -> None:
        # What was asked for behind the error has failed, too.
        with suppress(self.dialect.loaded_dbapi.Error):
            self._pipeline.__exit__(None, None, None)
        self._connection.rollback()

    def _do(self, text: str, call: Callable[[], object]) -> None:
        try:
            call()
        except self.dialect.loaded_dbapi.Error as error:
            _raise(self.dialect, text, error)


class DirectConnection:
    """One connection of the engine, for a thread that writes all the time. Close it once a transaction has failed."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._dialect = db.engine.dialect
        self._connection = db.engine.raw_connection()
        self._say_begin_ourselves(True)

    @contextmanager
    def write(self) -> Iterator[DirectTx]:
        with self._db.in_turn(), DirectTx(self._dialect, self._connection.driver_connection) as tx:
            yield tx

    def close(self) -> None:
        self._say_begin_ourselves(False)
        self._connection.close()

    def _say_begin_ourselves(self, is_ours: bool) -> None:
        """On SQLite every connection leaves it to us (db/engine.py)."""
        driver: Any = self._connection.driver_connection
        if self._dialect.name != "sqlite" and not driver.closed:
            driver.autocommit = is_ours


def pipelined(tx: Connection) -> AbstractContextManager[object]:
    """The statements of the block, in one way there and back; fetch what they return behind it."""
    if tx.dialect.name == "sqlite":
        return nullcontext()
    driver: Any = tx.connection.driver_connection
    pipeline: AbstractContextManager[object] = driver.pipeline()
    return pipeline


class Direct:
    """One statement. Every parameter has a name; values are what drivers take, or of a column's own type."""

    def __init__(self, make: Make) -> None:
        self._make = make
        self._compiled: dict[str, _Compiled] = {}

    def run(self, tx: Connection | DirectTx, values: Mapping[str, Any]) -> Any:
        """The driver's cursor, to fetch from before the transaction ends."""
        compiled, cursor = self._for(tx.dialect), _cursor(tx)
        try:
            return cursor.execute(compiled.text, compiled.bound(values))
        except tx.dialect.loaded_dbapi.Error as error:
            _raise(tx.dialect, compiled.text, error)

    def ask(self, tx: Connection | DirectTx, values: Mapping[str, Any]) -> Answer:
        """The first row, when it is called for: with PostgreSQL nobody waits before."""
        cursor = self.run(tx, values)
        if tx.dialect.name != "sqlite":
            fetch: Answer = cursor.fetchone
            return fetch
        # At once: a statement whose rows are not read has to be compiled again for the next values.
        row = cursor.fetchone()
        return lambda: row

    def _for(self, dialect: Dialect) -> _Compiled:
        found = self._compiled.get(dialect.name)
        if found is None:
            insert = sqlite.insert if dialect.name == "sqlite" else postgresql.insert
            found = self._compiled[dialect.name] = _Compiled(self._make(insert), dialect)
        return found


class _Compiled:
    def __init__(self, statement: Any, dialect: Dialect) -> None:
        compiled = statement.compile(dialect=dialect)
        self.text = str(compiled)
        self._order: Sequence[str] | None = compiled.positiontup
        types = {name: compiled.binds[name].type.dialect_impl(dialect) for name in compiled.params}
        found = {name: kind.bind_processor(dialect) for name, kind in types.items()}
        self._processors = {name: process for name, process in found.items() if process is not None}
        # Constants of the statement.
        self._fixed = {name: value for name, value in compiled.params.items() if not compiled.binds[name].required}

    def bound(self, values: Mapping[str, Any]) -> Any:
        given = {**self._fixed, **values}
        for name, process in self._processors.items():
            given[name] = process(given[name])
        return given if self._order is None else [given[name] for name in self._order]


def _cursor(tx: Connection | DirectTx) -> Any:
    return tx.cursor() if isinstance(tx, DirectTx) else tx.connection.cursor()


def _raise(dialect: Dialect, text: str, error: Exception) -> NoReturn:
    """Errors of the driver as SQLAlchemy's, which callers know."""
    raise DBAPIError.instance(text, None, error, dialect.loaded_dbapi.Error, dialect=dialect) from error
