"""Imports from a real bucket: registered without a copy, read by everybody who may, and never a wrong byte."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest

import millpond
from millpond.client.branches import create_ref, merge
from millpond.client.clone import clone
from millpond.client.datasets import diff, get_commit, list_entries
from millpond.client.edits import put_files, remove_paths
from millpond.client.file_reader import read_file
from millpond.client.http import Api
from millpond.client.sync import compare, sync
from millpond.client.transfer import ApiDownloader
from millpond.client.verify import Depth, verify_folder, verify_lake
from millpond.client.working_copy import load_working_copy
from millpond.db import volumes
from millpond.errors import BadFormat, ChangedOutside, NotFound
from millpond.lake.digests import digest_of
from millpond.lake.external import Descriptor, encode_descriptor
from millpond.lake.pages import LeafPage, decode_page
from millpond.lake.tree import build_tree
from millpond.model.people import Role
from millpond.model.tree import Content, Entry, Kind
from millpond.services.commits.checks.leaf import check_leaf
from millpond.testing.builders_work import add_agent, add_volume
from millpond.testing.seaweed import Seaweed
from millpond.wire.cache import CacheAdd, CacheAdded
from tests.integration.outside import Importing, importing

BIG = random.Random(5).randbytes(3_000_000)


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory, seaweed: Seaweed) -> Iterator[Importing]:
    with importing(tmp_path_factory.mktemp("imports"), seaweed, bucket="archive") as running:
        running.connect("archive")
        for number in range(5):
            running.bucket.put(f"scans/{number}.txt", f"scan {number}\n".encode())
        running.bucket.put("scans/deep/big.bin", BIG)
        running.bucket.put("scans/empty", b"")
        running.bucket.put("scans/ünï cödé +&%.txt", b"odd")
        yield running


def test_registers_what_is_there_and_copies_nothing(there: Importing) -> None:
    there.dataset("plain")
    done = there.bring("plain", "archive", there.uri("scans/"), path="raw", message="the archive")
    assert (done.added, done.changed, done.removed, done.unchanged, done.skipped_count) == (8, 0, 0, 0, 0)
    assert done.commit is not None
    assert done.commit.bytes == len(BIG) + 5 * 7 + 3
    assert done.commit.lineage == {
        "external": ["archive"],
        "import": {"connection": "archive", "copied": False, "uri": there.uri("scans/")},
    }
    entries = {entry.path: entry for entry in list_entries(there.api, "default", "plain", "main", "raw")}
    assert entries["raw/0.txt"].external and entries["raw/ünï cödé +&%.txt"].external
    assert not entries["raw/empty"].external
    again = there.bring("plain", "archive", there.uri("scans/"), path="raw")
    assert again.commit is not None and again.commit.id == done.commit.id
    assert (again.added, again.unchanged) == (0, 8)


def test_everything_that_reads_reads_external_files(there: Importing, tmp_path: Path) -> None:
    there.dataset("read")
    there.bring("read", "archive", there.uri("scans"))
    assert b"".join(read_file(there.api, "default", "read", "main", "3.txt")) == b"scan 3\n"
    assert b"".join(read_file(there.api, "default", "read", "main", "deep/big.bin", "10-19")) == BIG[10:20]
    with millpond.Dataset("read") as dataset:
        assert dataset.read("ünï cödé +&%.txt") == b"odd"
        with dataset.open("deep/big.bin") as file:
            file.seek(2_500_000)
            assert file.read(100) == BIG[2_500_000:2_500_100]
    with fsspec.open("mill://default/read@main/deep/big.bin") as file:
        assert file.read() == BIG
    cloned = clone(there.api, "default", "read", "main", tmp_path / "read")
    assert (tmp_path / "read/deep/big.bin").read_bytes() == BIG
    assert (tmp_path / "read/empty").read_bytes() == b""
    assert cloned.fetched.moved.files == 8
    assert verify_lake(there.api, "default", "read", "main", depth=Depth.FULL).problems == []
    assert verify_lake(there.api, "default", "read", "main", depth=Depth.METADATA).problems == []
    assert verify_folder(there.api, cloned.copy, depth=Depth.FULL).problems == []


def test_a_clone_that_is_unchanged_stays_what_it_was(there: Importing, tmp_path: Path) -> None:
    there.dataset("kept")
    there.bring("kept", "archive", there.uri("scans"))
    copy = clone(there.api, "default", "kept", "main", tmp_path / "kept").copy
    assert compare(there.api, copy, rehash=True).changes == []
    assert not sync(there.api, copy).changed
    (copy.root / "0.txt").write_bytes(b"mine now\n")
    (copy.root / "deep/note").write_text("new")
    done = sync(there.api, copy)
    assert done.changed and done.sent < 20_000
    found = diff(there.api, "default", "kept", done.commit.parents[0], "main")
    assert {change.path for change in found.items} == {"0.txt", "deep/note"}
    assert done.commit.lineage == {"external": ["archive"]}
    again = load_working_copy(copy.root)
    assert again is not None
    assert b"".join(read_file(there.api, "default", "kept", "main", "0.txt")) == b"mine now\n"
    assert b"".join(read_file(there.api, "default", "kept", "main", "1.txt")) == b"scan 1\n"


def test_a_changed_object_is_an_error_that_names_it(there: Importing, tmp_path: Path) -> None:
    there.bucket.put("moving/a.txt", b"first\n")
    there.bucket.put("moving/b.txt", b"stays\n")
    there.dataset("moving")
    before = there.bring("moving", "archive", there.uri("moving")).commit
    assert before is not None
    there.bucket.put("moving/a.txt", b"other\n")  # as long as before
    with pytest.raises(ChangedOutside, match=r"'a\.txt'.*s3://archive/moving/a\.txt"):
        clone(there.api, "default", "moving", "main", tmp_path / "moving")
    assert not (tmp_path / "moving").exists()
    with millpond.Dataset("moving") as dataset:
        assert dataset.read("b.txt") == b"stays\n"
        with pytest.raises(ChangedOutside):
            dataset.read("a.txt")
    with pytest.raises(ChangedOutside):
        b"".join(read_file(there.api, "default", "moving", "main", "a.txt"))
    problems = verify_lake(there.api, "default", "moving", "main", depth=Depth.FULL).problems
    assert [problem.paths for problem in problems] == [("a.txt",)]
    done = there.bring("moving", "archive", there.uri("moving"))
    assert (done.added, done.changed, done.unchanged) == (0, 1, 1)
    assert b"".join(read_file(there.api, "default", "moving", "main", "a.txt")) == b"other\n"
    there.bucket.remove("moving/a.txt")
    with pytest.raises(NotFound, match=r"s3://archive/moving/a\.txt"):
        b"".join(read_file(there.api, "default", "moving", "main", "a.txt"))


def test_single_objects_and_odd_keys(there: Importing) -> None:
    there.bucket.put("odd/x", b"file")
    there.bucket.put("odd/x/y", b"below it")
    there.bucket.put("odd/.mill/config.json", b"no")
    there.dataset("odd")
    one = there.bring("odd", "archive", there.uri("scans/1.txt"))
    assert [entry.path for entry in list_entries(there.api, "default", "odd", "main", "")] == ["1.txt"]
    assert one.added == 1
    more = there.bring("odd", "archive", there.uri("odd/"))
    reasons = {skipped.uri: skipped.reason for skipped in more.skipped}
    assert there.uri("odd/.mill/config.json") in reasons
    assert more.added + more.skipped_count >= 2
    with pytest.raises(NotFound, match="Nothing found at"):
        there.bring("odd", "archive", there.uri("not-here/"))


def test_urls_are_for_paths_of_the_commit_and_nothing_else(there: Importing) -> None:
    there.dataset("urls")
    there.bring("urls", "archive", there.uri("scans"))
    commit = get_commit(there.api, "default", "urls")
    with ApiDownloader(there.api, "default", "urls", commit.id) as lake:
        answer = there.server.admin.post(
            f"/projects/default/datasets/urls/commits/{commit.id}/urls", json={"external": ["empty"]}
        )
        assert answer.status_code == 404
        assert lake.page(commit.tree)


def test_others_build_on_what_somebody_imported(there: Importing, tmp_path: Path) -> None:
    """Edits, merges and reverts by another member, before anybody has checked the importer's packs."""
    there.dataset("shared")
    there.bring("shared", "archive", there.uri("scans"))
    other = there.server.user("colleague", roles={"default": Role.MEMBER})
    token = other.headers["Authorization"].removeprefix("Bearer ")
    note = tmp_path / "note"
    note.write_text("beside")
    with Api(there.server.url, token) as theirs:
        put = put_files(theirs, "default", "shared", {"note": note, "1.txt": note})
        assert put.lineage == {"external": ["archive"]}
        assert b"".join(read_file(theirs, "default", "shared", "main", "1.txt")) == b"beside"
        create_ref(theirs, "default", "shared", "side", at=put.parents[0])
        put_files(theirs, "default", "shared", {"side": note}, branch="side")
        merged = merge(theirs, "default", "shared", "side", into="main")
        assert merged.lineage == {"external": ["archive"]}
        assert b"".join(read_file(theirs, "default", "shared", "main", "0.txt")) == b"scan 0\n"
        gone = remove_paths(theirs, "default", "shared", ["0.txt", "1.txt", "2.txt", "3.txt", "4.txt"])
        assert "external" in gone.lineage
        rest = remove_paths(theirs, "default", "shared", ["deep", "ünï cödé +&%.txt"], recursive=True)
        assert rest.lineage == {}, "nothing of it lies outside any more"


def test_agents_and_jobs_read_what_they_may(there: Importing, tmp_path: Path) -> None:
    there.dataset("filled")
    commit = there.bring("filled", "archive", there.uri("scans")).commit
    assert commit is not None
    db = there.server.deps.db
    now = there.server.deps.clock.now()
    agent = add_agent(db, now=now)
    volume = add_volume(db, now=now)
    with db.write() as tx:
        volumes.change(tx, volume.id, filler_id=agent.agent.id)
    client = there.server.client(agent.token)
    path = f"/projects/default/datasets/filled/commits/{commit.id}/urls"
    assert client.post(path, json={"external": ["0.txt"]}).status_code in (403, 404)
    there.api.send("POST", "/caches", CacheAdded, CacheAdd(dataset="default/filled", volume=volume.name))
    answer = client.post(path, json={"external": ["0.txt", "deep/big.bin"]})
    assert answer.status_code == 200, answer.text
    assert set(answer.json()["external"]) == {"0.txt", "deep/big.bin"}
    assert client.post("/projects/default/connections/archive/test").status_code == 403


def test_a_job_cannot_commit_what_lies_outside(there: Importing) -> None:
    """Its token reads the job's own inputs; a hand-made descriptor would lead to all that is behind a connection."""
    raw = encode_descriptor(Descriptor("archive", there.uri("scans/0.txt"), 7, '"x"'))
    entry = Entry(b"file", Kind.FILE, 7, Content.EXTERNAL, digest_of(raw))
    pages: dict[str, bytes] = {}
    tree = build_tree([entry], lambda page_id, data: pages.update({page_id: data}))
    leaf = decode_page(pages[tree.root])
    assert isinstance(leaf, LeafPage)
    with pytest.raises(BadFormat, match="job"):
        check_leaf(there.server.deps, there.server.project("default").id, "placement:p1", tree.root, leaf)
