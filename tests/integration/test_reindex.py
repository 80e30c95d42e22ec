"""A lake without its database: everything that people could see comes back, and what is damaged is said."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from millpond.blobs.local import LocalStore
from millpond.blobs.location import open_store
from millpond.blobs.signing import LocalSigner
from millpond.blobs.store import BlobStore
from millpond.db import blobs, commits, lineage_steps, server
from millpond.db import datasets as rows
from millpond.errors import SetupError
from millpond.lake.keys import ProjectKeys
from millpond.model.dataset import Commit, RefType
from millpond.model.lineage import LineageDirection
from millpond.services import setup
from millpond.services.commits import refs
from millpond.services.datasets import datasets
from millpond.services.deps import Deps
from millpond.services.lake import collect, reindex
from millpond.services.people import projects
from millpond.testing.builders_data import a_commit, a_dataset, the_admin, the_project
from millpond.testing.seaweed import CREDENTIALS, Seaweed
from millpond.testing.server import SECRET
from tests.integration.lost_database import a_server, an_empty_server, rows_of, the
from tests.unit.services.lake.reading_all import read_all

BIG = random.Random(3).randbytes(2_500_000)


@pytest.fixture(params=["directory", pytest.param("seaweed", marks=pytest.mark.long)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> BlobStore:
    if request.param == "directory":
        return LocalStore(tmp_path / "lake", LocalSigner(SECRET))
    seaweed: Seaweed = request.getfixturevalue("seaweed")
    return open_store(seaweed.url(tmp_path.name), environment=CREDENTIALS)


def fill(deps: Deps) -> tuple[Commit, Commit]:
    """Two projects with histories, a tag, a deleted dataset and a renamed one."""
    first = a_commit(deps, {"a": b"1", "big": BIG}, message="first")
    second = a_commit(deps, {"a": b"2", "big": BIG} | {f"many/{n:04}": b"%d" % n for n in range(700)})
    refs.create(deps, the_admin(deps), a_dataset(deps), name="v1", type=RefType.TAG, at=first.id)
    a_commit(deps, {"gone": b"deleted"}, dataset="old")
    datasets.delete(deps, the_admin(deps), a_dataset(deps, "old"))
    projects.create(deps, the_admin(deps), name="team")
    a_commit(deps, {"x": b"theirs"}, dataset="draft", project="team")
    datasets.change(deps, the_admin(deps), a_dataset(deps, "draft", project="team"), name="final", description=None)
    return first, second


def test_everything_comes_back(store: BlobStore, tmp_path: Path) -> None:
    with a_server(tmp_path / "lost", store) as lost:
        first, second = fill(lost)
        before = read_all(lost, a_dataset(lost), second)
    with an_empty_server(tmp_path / "new", store) as deps:
        done = reindex.reindex(deps)
        assert (done.projects, done.datasets, done.commits, done.problems) == (2, 3, 4, [])
        assert read_all(deps, the(deps, "default", "xray"), second) == before
        assert read_all(deps, the(deps, "default", "xray"), first) == {"a": b"1", "big": BIG}
        with deps.db.read() as tx:
            tag = commits.find_ref(tx, first.dataset_id, "v1")
            assert tag is not None
            assert (tag.type, tag.commit_id) == (RefType.TAG, first.id)
            assert commits.get(tx, second.id) == second
            way = LineageDirection.DOWN
            (step,) = lineage_steps.steps(tx, first.id, way, among=None, depth=1, limit=9)
            assert step.made is not None and step.made.id == second.id
        assert rows_of(deps, "default", "old") is None, "it is in the bin"
        assert the(deps, "team", "final").created_by == "admin"
        # A first start finds the project `default` there, and goes on where the other server ended.
        setup.populate(deps.db, admin_password="correct horse", now=deps.clock.now())
        third = a_commit(deps, before | {"a": b"3"})
        assert third.parents == (second.id,)
        assert collect.collect(deps, the_admin(deps), now=True).projects[0].problem is None
        assert read_all(deps, the(deps, "default", "xray"), third) == before | {"a": b"3"}
        with deps.db.read() as tx:
            assert [card.dataset.name for card in rows.deleted(tx, among=None, limit=9)] == ["old"]
        with pytest.raises(SetupError, match="not empty"):
            reindex.reindex(deps)


@pytest.fixture
def local(tmp_path: Path) -> BlobStore:
    return LocalStore(tmp_path / "lake", LocalSigner(SECRET))


def test_a_run_that_was_cut_off_is_simply_run_again(
    local: BlobStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with a_server(tmp_path / "lost", local) as lost:
        _, second = fill(lost)
    with an_empty_server(tmp_path / "new", local) as deps:
        with monkeypatch.context() as patched:
            patched.setattr(rows, "insert", _power_cut)
            with pytest.raises(KeyboardInterrupt):
                reindex.reindex(deps)
        with deps.db.read() as tx:
            row = server.get(tx)
        assert row is not None
        assert row.lake_id is None, "nobody can take half an index for a whole one"
        assert reindex.reindex(deps).problems == []
        assert len(read_all(deps, the(deps, "default", "xray"), second)) == 702


def _power_cut(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def damage_pack(store: BlobStore, keys: ProjectKeys, first: Commit) -> None:
    for info in store.list(keys.packs):
        store.put(info.key, store.get(info.key)[:-10])


def lose_locators(store: BlobStore, keys: ProjectKeys, first: Commit) -> None:
    for info in list(store.list(f"{keys.prefix}locators/")):
        store.delete(info.key)


def lose_root(store: BlobStore, keys: ProjectKeys, first: Commit) -> None:
    store.delete(keys.page(first.tree))


def lose_record(store: BlobStore, keys: ProjectKeys, first: Commit) -> None:
    store.put(keys.record(first.dataset_id, 1), b"{}")


@pytest.mark.parametrize(
    ("harm", "said", "readable"),
    [
        (damage_pack, "cannot be used: Pack", 0),
        (lose_locators, None, 2),
        (lose_root, "page", 1),
        (lose_record, "record", 2),
    ],
)
def test_a_damaged_lake_gives_back_the_rest(
    local: BlobStore,
    tmp_path: Path,
    harm: Callable[[BlobStore, ProjectKeys, Commit], None],
    said: str | None,
    readable: int,
) -> None:
    with a_server(tmp_path / "lost", local) as lost:
        first = a_commit(lost, {"a": b"1"})
        second = a_commit(lost, {"a": b"2"})
        harm(local, ProjectKeys(the_project(lost).id), first)
    with an_empty_server(tmp_path / "new", local) as deps:
        done = reindex.reindex(deps)
        assert [said in problem for problem in done.problems[:1]] == ([True] if said else []), done.problems
        assert done.commits == 2
        found = [commit for commit in (first, second) if _can_read(deps, commit)]
        assert len(found) == readable
        with deps.db.read() as tx:
            assert len(blobs.pages(tx, the_project(deps).id, [first.tree, second.tree])) >= min(readable, 2)


def test_a_branch_whose_newest_commit_is_lost_is_at_the_one_before(local: BlobStore, tmp_path: Path) -> None:
    with a_server(tmp_path / "lost", local) as lost:
        first = a_commit(lost, {"a": b"1"})
        second = a_commit(lost, {"a": b"2"})
        local.delete(ProjectKeys(the_project(lost).id).commit(second.id))
    with an_empty_server(tmp_path / "new", local) as deps:
        (problem,) = reindex.reindex(deps).problems
        assert f"is at {first.id} now" in problem
        assert read_all(deps, the(deps, "default", "xray"), first) == {"a": b"1"}


def _can_read(deps: Deps, commit: Commit) -> bool:
    try:
        read_all(replace(deps), the(deps, "default", "xray"), commit)
    except Exception:
        return False
    return True
