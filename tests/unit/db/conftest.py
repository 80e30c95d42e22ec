"""Every test of queries runs on both databases: take the fixture `db`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import text

from millpond.db.engine import Database
from millpond.db.tables import metadata
from millpond.testing.postgres import Postgres
from millpond.testing.server import copy_empty_database


@pytest.fixture(scope="session")
def postgres_db(postgres: Postgres) -> Iterator[Database]:
    """One database with all tables for all tests: emptying it is ten times as fast as making one."""
    with postgres.database() as url, closing(Database(url)) as database:
        metadata.create_all(database.engine)
        yield database


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A database without tables."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'millpond.db'}"
    else:
        server: Postgres = request.getfixturevalue("postgres")
        with server.database() as url:
            yield url


@pytest.fixture(params=["sqlite", "postgres"])
def db(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """A database with all tables and no rows."""
    if request.param == "sqlite":
        copy_empty_database(tmp_path / "millpond.db")
        with closing(Database(f"sqlite:///{tmp_path / 'millpond.db'}")) as database:
            yield database
        return
    database = request.getfixturevalue("postgres_db")
    yield database
    with database.write() as tx:
        tx.execute(text("; ".join(f'DELETE FROM "{table.name}"' for table in reversed(metadata.sorted_tables))))
