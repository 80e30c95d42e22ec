"""Every test of queries runs on both databases: take the fixture `db`, or `deps` for services on top of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import text

from millpond.blobs.memory import MemoryStore
from millpond.blobs.signing import LocalSigner
from millpond.db.engine import Database
from millpond.db.tables import metadata
from millpond.model.people import SYSTEM, Role
from millpond.services.deps import Deps
from millpond.services.people import projects
from millpond.settings import Settings
from millpond.testing.clock import FakeClock
from millpond.testing.events import FakeEvents
from millpond.testing.postgres import Postgres
from millpond.testing.server import ADMIN, SECRET, add_user, copy_empty_database, share_compiled


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
            share_compiled(database.engine)
            yield database
        return
    database = request.getfixturevalue("postgres_db")
    yield database
    with database.write() as tx:
        # Without the triggers that keep the audit log.
        tx.execute(text("SET LOCAL session_replication_role = replica"))
        tx.execute(text("; ".join(f'DELETE FROM "{table.name}"' for table in reversed(metadata.sorted_tables))))


@pytest.fixture
def deps(db: Database, tmp_path: Path) -> Deps:
    """A server's parts on an empty database: one project, one administrator."""
    made = Deps(
        db=db,
        store=MemoryStore(LocalSigner(SECRET)),
        clock=FakeClock(),
        events=FakeEvents(),
        settings=Settings(data_dir=tmp_path),
        secret=SECRET,
    )
    projects.create(made, SYSTEM, name="default")
    add_user(made, ADMIN, roles={"default": Role.ADMIN}, is_admin=True)
    return made
