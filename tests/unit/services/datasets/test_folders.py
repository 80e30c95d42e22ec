"""Lists of directories after a restart: rows tell what leaves hold, and what rows do not tell yet is read once."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlalchemy import select

from millpond.blobs.memory import MemoryStore
from millpond.blobs.store import BlobStore
from millpond.db.tables import page
from millpond.lake.reader import TreeReader
from millpond.model.dataset import Commit
from millpond.services.commits.pages import PageCache, ProjectPages
from millpond.services.datasets import reading
from millpond.services.deps import Deps
from millpond.testing.builders_data import a_commit, a_dataset

FOLDERS = 120


@pytest.fixture
def commit(deps: Deps) -> Commit:
    """Some ten leaves, most of which end in the middle of a folder."""
    return a_commit(deps, {f"in/{n // 75:04}/{n:05}": b"%d" % (n % 9) for n in range(75 * FOLDERS)})


def test_the_list_of_a_new_server_reads_no_leaf_but_the_first(deps: Deps, commit: Commit) -> None:
    read = listed_anew(deps, commit)
    assert len(read) <= 2, "the root, and the leaf that tells that there is such a directory"


def test_leaves_of_older_rows_are_read_once(deps: Deps, commit: Commit) -> None:
    leaves = {ref.id for ref in TreeReader(pages_of(deps), commit.tree).leaves()}
    with deps.db.write() as tx:
        tx.execute(page.update().values(folders=None))
    assert leaves - listed_anew(deps, commit) == set(), "nothing but the leaves tells what they hold"
    with deps.db.read() as tx:
        noted = tx.execute(select(page.c.id).where(page.c.folders.is_not(None))).all()
    assert {row.id.hex() for row in noted} == leaves
    assert len(listed_anew(deps, commit)) <= 2


def listed_anew(deps: Deps, commit: Commit) -> set[str]:
    """List the folders as a server that has just started, and check the list; which pages were read."""
    store = Noting(deps.store)
    found = reading.entries(
        replace(deps, pages=PageCache(), store=store), a_dataset(deps), commit, path="in", limit=1000, cursor=None
    )
    assert [(item.name, item.files) for item in found.items] == [(f"{n:04}", 75) for n in range(FOLDERS)]
    return store.read


def pages_of(deps: Deps) -> ProjectPages:
    return ProjectPages(deps.store, deps.pages, a_dataset(deps).project_id)


class Noting(MemoryStore):
    """Another store, and which of its objects were read."""

    def __init__(self, store: BlobStore) -> None:
        super().__init__()
        self._store = store
        self.read: set[str] = set()

    def get(self, key: str) -> bytes:
        self.read.add(key.rpartition("/")[2])
        return self._store.get(key)
