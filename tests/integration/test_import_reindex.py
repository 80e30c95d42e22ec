"""Imported files after their database was lost: the lake knows where they lie, and a connection of that name does."""

from __future__ import annotations

from pathlib import Path

import pytest

from millpond.blobs.memory import MemoryStore
from millpond.blobs.signing import LocalSigner
from millpond.db import blobs, datasets
from millpond.db.engine import Database
from millpond.db.tables import metadata
from millpond.errors import NotFound
from millpond.model.people import SYSTEM
from millpond.services import setup
from millpond.services.datasets import files, reading
from millpond.services.deps import Deps
from millpond.services.lake import collect, lake_owner, reindex
from millpond.services.sources import connections, imports
from millpond.settings import Settings
from millpond.testing.builders_data import a_dataset, the_admin, the_project
from millpond.testing.clock import FakeClock
from millpond.testing.events import FakeEvents
from millpond.testing.server import SECRET, making_deps
from millpond.testing.website import Website, resolving, running_website


def bring(deps: Deps, site: Website) -> None:
    connect(deps, site)
    wanted = {"connection": "site", "uri": site.url("/pub/list"), "listing": True}
    imports.import_objects(deps, the_admin(deps), the_project(deps), a_dataset(deps), **wanted)


def connect(deps: Deps, site: Website) -> None:
    connections.create(deps, SYSTEM, the_project(deps), name="site", url=site.url("/pub"))


def read(deps: Deps, path: str) -> bytes:
    with deps.db.read() as tx:
        dataset = datasets.find(tx, the_project(deps).id, "xray")
    assert dataset is not None
    file = files.open_file(deps, dataset, reading.get_commit(deps, dataset, "main"), path)
    return b"".join(file.read(deps, 0, file.size))


def test_reindexed_and_collected(tmp_path: Path) -> None:
    store = MemoryStore(LocalSigner(SECRET))
    names = {"files.test": ["127.0.0.1"]}
    with running_website(tmp_path / "site") as site, resolving(names):
        site.files |= {"/pub/a": b"first", "/pub/b": b"second", "/pub/list": b"a\nb\n"}
        settings = Settings(data_dir=tmp_path / "lost", import_hosts="files.test")
        with making_deps(settings, clock=FakeClock(), store=store, events=FakeEvents()) as lost:
            lake_owner.claim(lost.db, store, lost.clock.now())
            bring(lost, site)
            assert collect.collect(lost, SYSTEM, now=True).projects[0].problem is None
            assert read(lost, "a") == b"first", "descriptors are content that commits need"
        (tmp_path / "new").mkdir()
        settings = Settings(data_dir=tmp_path / "new", import_hosts="files.test")
        db = Database(settings.database)
        metadata.create_all(db.engine)
        secret = setup.identify(db, FakeClock().now()).secret
        deps = Deps(db, store, FakeClock(), FakeEvents(), settings, secret)
        assert reindex.reindex(deps).problems == []
        with db.read() as tx:
            assert blobs.external_names(tx, the_project(deps).id) == {"site"}
        with pytest.raises(NotFound, match="connection 'site'"):
            read(deps, "a")
        connect(deps, site)
        assert read(deps, "b") == b"second"
        db.close()
