"""A lake whose database is lost: the server that filled it, and the one that reads it anew."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from millpond.blobs.store import BlobStore
from millpond.db import datasets as rows
from millpond.db.engine import Database
from millpond.db.tables import metadata
from millpond.model.dataset import Dataset
from millpond.services import setup
from millpond.services.deps import Deps
from millpond.services.lake import lake_owner
from millpond.settings import Settings
from millpond.testing.builders_data import the_project
from millpond.testing.clock import FakeClock
from millpond.testing.events import FakeEvents
from millpond.testing.server import making_deps


@contextmanager
def a_server(folder: Path, store: BlobStore) -> Iterator[Deps]:
    settings = Settings(data_dir=folder)
    with making_deps(settings, clock=FakeClock(), store=store, events=FakeEvents()) as deps:
        lake_owner.claim(deps.db, store, deps.clock.now())
        yield deps


@contextmanager
def an_empty_server(folder: Path, store: BlobStore) -> Iterator[Deps]:
    folder.mkdir()
    settings = Settings(data_dir=folder)
    db = Database(settings.database)
    metadata.create_all(db.engine)
    secret = setup.identify(db, FakeClock().now()).secret
    yield Deps(db, store, FakeClock(), FakeEvents(), settings, secret)
    db.close()


def the(deps: Deps, project: str, name: str) -> Dataset:
    found = rows_of(deps, project, name)
    assert found is not None, name
    return found


def rows_of(deps: Deps, project: str, name: str) -> Dataset | None:
    with deps.db.read() as tx:
        return rows.find(tx, the_project(deps, project).id, name)
