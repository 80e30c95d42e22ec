"""Every test of queries runs on both databases: take the fixture `db`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from millpond.db.engine import Database
from millpond.db.tables import metadata
from millpond.testing.postgres import Postgres

_TEMPLATE = "millpond_template"


@pytest.fixture(scope="session")
def template(postgres: Postgres) -> str:
    """The name of a database with all tables, to be copied."""
    postgres.make_template(_TEMPLATE, lambda db: metadata.create_all(db.engine))
    return _TEMPLATE


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
        database = Database(f"sqlite:///{tmp_path / 'millpond.db'}")
        metadata.create_all(database.engine)
        yield database
        database.close()
        return
    server: Postgres = request.getfixturevalue("postgres")
    with server.database(request.getfixturevalue("template")) as url:
        database = Database(url)
        yield database
        database.close()
