"""What a reindex makes of a lake in which something is torn, lost or not the lake's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from millpond.blobs.local import LocalStore
from millpond.blobs.signing import LocalSigner
from millpond.blobs.store import BlobStore
from millpond.db import commits
from millpond.db import datasets as rows
from millpond.lake.keys import PROJECTS, ProjectKeys
from millpond.model.dataset import Commit, RefType
from millpond.services import setup
from millpond.services.commits import refs
from millpond.services.datasets import datasets
from millpond.services.deps import Deps
from millpond.services.lake import collect, pending_deletion, purge, reindex
from millpond.testing.builders_data import a_commit, a_dataset, the_admin, the_project
from millpond.testing.server import SECRET
from tests.integration.lost_database import a_server, an_empty_server, rows_of, the
from tests.unit.services.lake.reading_all import read_all


@pytest.fixture
def lake(tmp_path: Path) -> BlobStore:
    return LocalStore(tmp_path / "lake", LocalSigner(SECRET))


def branches(deps: Deps, name: str) -> dict[str, str]:
    with deps.db.read() as tx:
        return {ref.name: ref.commit_id for ref in commits.refs(tx, the(deps, "default", name).id, limit=99)}


def delete(deps: Deps, name: str) -> None:
    datasets.delete(deps, the_admin(deps), a_dataset(deps, name))


def purge_it(deps: Deps, name: str) -> None:
    dataset = a_dataset(deps, name)
    delete(deps, name)
    assert purge.purge_dataset(deps, the_admin(deps), dataset, deps.clock.now())


def in_bin(deps: Deps) -> list[str]:
    with deps.db.read() as tx:
        return [card.dataset.name for card in rows.deleted(tx, among=None, limit=9)]


def test_what_was_purged_does_not_come_back_before_a_collection_either(lake: BlobStore, tmp_path: Path) -> None:
    with a_server(tmp_path / "lost", lake) as lost:
        kept = a_commit(lost, {"a": b"1"})
        a_commit(lost, {"secret": b"gone for good"}, dataset="old")
        purge_it(lost, "old")
        a_commit(lost, {"b": b"in the bin"}, dataset="binned")
        delete(lost, "binned")
    with an_empty_server(tmp_path / "new", lake) as deps:
        done = reindex.reindex(deps)
        assert (done.datasets, done.commits, done.problems) == (2, 2, [])
        assert in_bin(deps) == ["binned"]
        setup.populate(deps.db, admin_password="correct horse", now=deps.clock.now())
        collect.collect(deps, the_admin(deps), now=True)
        assert read_all(deps, the(deps, "default", "xray"), kept) == {"a": b"1"}
        keys = ProjectKeys(the_project(deps).id)
        left = {info.key.split("/")[3] for info in lake.list(keys.datasets)}
        assert len(left) == 2, "nothing of the purged one is left"
        assert len(list(lake.list(keys.packs))) == 2
    with an_empty_server(tmp_path / "again", lake) as deps:
        assert reindex.reindex(deps).problems == []
        assert in_bin(deps) == ["binned"]


def test_removing_that_was_cut_off_brings_nothing_back(lake: BlobStore, tmp_path: Path) -> None:
    """At whichever object: the record that says so goes last."""
    with a_server(tmp_path / "lost", lake) as lost:
        for n in range(3):
            a_commit(lost, {"a": b"%d" % n}, dataset="old")
        purge_it(lost, "old")
        keys = ProjectKeys(the_project(lost).id)
        number = 0
        while list(lake.list(keys.datasets)):
            with an_empty_server(tmp_path / f"new-{number}", lake) as deps:
                done = reindex.reindex(deps)
                assert (done.datasets, done.problems) == (0, [])
            remove_one(lost)
            number += 1
        assert number >= 6, "its records go one after the other"


class _Enough(Exception):
    pass


def remove_one(deps: Deps) -> None:
    """As a collection that is killed after one object."""
    real = deps.store.delete
    with pending_deletion.permission(deps) as held:
        gone: list[str] = []

        def once(key: str) -> None:
            if gone:
                raise _Enough
            if deps.store.head(key) is not None:
                gone.append(key)
            real(key)

        held.delete = once  # type: ignore[method-assign]
        try:
            pending_deletion.remove_all(held)
        except _Enough:
            return


def test_a_torn_last_record_leaves_the_dataset_usable_and_loses_no_commit(lake: BlobStore, tmp_path: Path) -> None:
    with a_server(tmp_path / "lost", lake) as lost:
        first = a_commit(lost, {"a": b"1"})
        second = a_commit(lost, {"a": b"2"})
        last = ProjectKeys(the_project(lost).id).record(first.dataset_id, 2)
        lake.put(last, lake.get(last)[:-9])
    with an_empty_server(tmp_path / "new", lake) as deps:
        done = reindex.reindex(deps)
        assert any(last in problem for problem in done.problems), done.problems
        assert any(f"recovered-{second.id[:12]}" in problem for problem in done.problems), done.problems
        assert branches(deps, "xray") == {"main": first.id, f"recovered-{second.id[:12]}": second.id}
        assert read_all(deps, the(deps, "default", "xray"), second) == {"a": b"2"}
        setup.populate(deps.db, admin_password="correct horse", now=deps.clock.now())
        third = a_commit(deps, {"a": b"3"})
        assert third.parents == (first.id,), "work goes on: the torn record's number is not used again"
        assert branches(deps, "xray")["main"] == third.id


def test_a_dataset_whose_first_record_is_lost_comes_back_under_another_name(lake: BlobStore, tmp_path: Path) -> None:
    with a_server(tmp_path / "lost", lake) as lost:
        a_commit(lost, {"b": b"whole"}, dataset="other")
        commit = a_commit(lost, {"a": b"1"})
        lake.put(ProjectKeys(the_project(lost).id).record(commit.dataset_id, 0), b"garbage")
    with an_empty_server(tmp_path / "new", lake) as deps:
        done = reindex.reindex(deps)
        name = f"lost-name-{commit.dataset_id[:8]}"
        assert any(f"it is now default/{name}" in problem for problem in done.problems), done.problems
        assert read_all(deps, the(deps, "default", name), commit) == {"a": b"1"}
        assert branches(deps, name) == {"main": commit.id}


@pytest.mark.parametrize("damage", [b"", b"garbage", b"[" * 100_000, b'{"format":1}'])
def test_what_lies_behind_a_commit_that_is_garbage_is_not_lost(lake: BlobStore, tmp_path: Path, damage: bytes) -> None:
    with a_server(tmp_path / "lost", lake) as lost:
        made = [a_commit(lost, {"a": b"%d" % n}) for n in range(3)]
        refs.create(lost, the_admin(lost), a_dataset(lost), name="v1", type=RefType.TAG, at=made[2].id)
        lake.put(ProjectKeys(the_project(lost).id).commit(made[1].id), damage)
    with an_empty_server(tmp_path / "new", lake) as deps:
        done = reindex.reindex(deps)
        assert any(f"commit {made[1].id} cannot be used" in problem for problem in done.problems), done.problems
        kept = {"main": made[2].id, "v1": made[2].id, f"recovered-{made[0].id[:12]}": made[0].id}
        assert branches(deps, "xray") == kept
        for commit in (made[0], made[2]):
            assert set(read_all(deps, the(deps, "default", "xray"), commit)) == {"a"}


def test_objects_that_are_not_the_lakes_are_told_and_left_alone(lake: BlobStore, tmp_path: Path) -> None:
    with a_server(tmp_path / "lost", lake) as lost:
        commit = a_commit(lost, {"a": b"1"})
        keys = ProjectKeys(the_project(lost).id)
        foreign = [
            f"{PROJECTS}README.txt",
            f"{PROJECTS}UPPER/packs/aa/x",
            f"{keys.packs}README",
            f"{keys.packs}zz/not-a-pack",
            f"{keys.pages}zz/zzz",
            f"{keys.pages}README.md",
            f"{keys.datasets}notes",
            f"{keys.datasets}{commit.dataset_id}/000000000001.bak",
            f"{keys.datasets}UPPER/000000000000",
            f"{keys.commits}zz/zzz",
        ]
        for key in foreign:
            lake.put(key, b"mine")
        tool = tmp_path / "lake" / PROJECTS / the_project(lost).id / "ünïcode~ and spaces"
        tool.write_bytes(b"by another tool")
    with an_empty_server(tmp_path / "new", lake) as deps:
        done = reindex.reindex(deps)
        assert (done.projects, done.datasets, done.commits) == (1, 1, 1)
        told = "\n".join(done.problems)
        assert [key for key in foreign if key not in told and not key.startswith(keys.commits)] == []
        assert read_all(deps, the(deps, "default", "xray"), commit) == {"a": b"1"}
        setup.populate(deps.db, admin_password="correct horse", now=deps.clock.now())
        collect.collect(deps, the_admin(deps), now=True)
        assert [key for key in foreign if lake.head(key) is None] == []
        assert rows_of(deps, "default", "notes") is None


def test_a_commit_of_another_dataset_under_a_ref_is_lost_and_not_mixed_in(lake: BlobStore, tmp_path: Path) -> None:
    with a_server(tmp_path / "lost", lake) as lost:
        first = a_commit(lost, {"a": b"1"})
        other: Commit = a_commit(lost, {"b": b"2"}, dataset="other")
        keys = ProjectKeys(the_project(lost).id)
        record = lake.get(keys.record(first.dataset_id, 1)).replace(first.id.encode(), other.id.encode())
        lake.put(keys.record(first.dataset_id, 1), record)
    with an_empty_server(tmp_path / "new", lake) as deps:
        done = reindex.reindex(deps)
        assert any("is lost" in problem for problem in done.problems), done.problems
        assert branches(deps, "xray") == {f"recovered-{first.id[:12]}": first.id}
        assert read_all(deps, the(deps, "default", "other"), other) == {"b": b"2"}
