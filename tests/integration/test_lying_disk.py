"""File servers lie: what they say and what they did are told apart, and nothing is lost, torn or left behind."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from millpond.errors import Conflict, DiskFull, VolumeProblem
from millpond.lake.push import push_directory
from millpond.testing.builders_data import a_commit
from millpond.testing.lake import DirectLake, Thing, read_things, write_things
from millpond.testing.server import running_server
from millpond.testing.waiting import wait_until
from millpond.volumes.attempt import begin_attempt, empty_trash, set_aside_attempts
from millpond.volumes.bases import BaseTree
from millpond.volumes.evict import evict
from millpond.volumes.fill import fill
from millpond.volumes.probe import probe
from millpond.volumes.volume import CacheVolume, CommitPlace, adopt, check
from tests.integration.cache_site import CacheSite

SCRIPT = Path(__file__).with_name("lying_disk.py")
FIRST, SECOND = (CommitPlace("project", "dataset", letter * 64) for letter in "ab")
THINGS = [
    Thing(b"a/b/c.txt", b"text"),
    Thing(b"a/d", b"more"),
    Thing(b"large", os.urandom(1_500_000)),
    Thing(b"link", b"a/d", link=True),
    Thing(b"run.sh", b"#!/bin/sh\n", executable=True),
]


class Disk:
    def __init__(self, root: Path) -> None:
        self.control = root / "control"
        self.lake = DirectLake()
        write_things(root / "source", THINGS)
        self.tree = push_directory(root / "source", self.lake).tree.root
        self.lake.accept(self.tree)
        self.volume = CacheVolume(root=root / "volume", id="v1")
        adopt(self.volume, "lake")

    def lie(self, name: str, how: str = "yes") -> None:
        (self.control / name).write_text(how)

    def stop_lying(self) -> None:
        for path in self.control.iterdir():
            path.unlink()

    def fill(self, place: CommitPlace = FIRST, *bases: BaseTree) -> None:
        fill(begin_attempt(self.volume, place, 1), self.tree, self.lake, bases=bases)

    def assert_whole(self, place: CommitPlace = FIRST) -> None:
        assert read_things(self.volume.commit(place)) == THINGS

    def left(self) -> list[str]:
        return [
            name for path in (self.volume.attempts, self.volume.trash) if path.exists() for name in os.listdir(path)
        ]


@pytest.fixture
def lying(tmp_path: Path) -> Iterator[Path]:
    """A directory whose `volume` lies as the files of `control` say."""
    pytest.importorskip("mfusepy", reason="needs mfusepy and libfuse3")
    if not os.access("/dev/fuse", os.W_OK) or shutil.which("fusermount3") is None:
        pytest.skip("needs /dev/fuse and Debian's fuse3")
    for name in ("below", "volume", "control"):
        (tmp_path / name).mkdir()
    command = [sys.executable, str(SCRIPT), *(str(tmp_path / name) for name in ("below", "volume", "control"))]
    with subprocess.Popen(command) as process:
        try:
            wait_until(lambda: (tmp_path / "volume").is_mount(), what="the mount")
            yield tmp_path
        finally:
            subprocess.run(["fusermount3", "-u", "-z", str(tmp_path / "volume")], check=False)
            process.terminate()


@pytest.fixture
def disk(lying: Path) -> Disk:
    return Disk(lying)


@pytest.mark.parametrize("answer", ["ENOENT", "EEXIST", "ENOTEMPTY"])
def test_a_rename_that_was_done_and_says_otherwise(disk: Disk, answer: str) -> None:
    disk.lie("rename", answer)
    disk.fill()
    disk.assert_whole()
    assert evict(begin_attempt(disk.volume, FIRST, 2))
    assert disk.volume.published() == []
    set_aside_attempts(disk.volume, wanted=())
    assert empty_trash(disk.volume) and disk.left() == []


def test_a_name_that_appears_late(disk: Disk) -> None:
    disk.lie("rename", "ENOENT")
    disk.lie("late", "0.3")
    disk.fill()
    disk.assert_whole()


@pytest.mark.parametrize(("answer", "error"), [("ENOSPC", DiskFull), ("EIO", VolumeProblem)])
def test_an_error_that_comes_only_when_a_file_is_closed(disk: Disk, answer: str, error: type[Exception]) -> None:
    disk.lie("close", answer)
    with pytest.raises(error):
        disk.fill()
    assert disk.volume.published() == [] and disk.left() == []
    disk.stop_lying()
    disk.fill()
    disk.assert_whole()


def test_what_somebody_reads_is_removed_later(disk: Disk) -> None:
    disk.fill()
    with (disk.volume.commit(FIRST) / "a/d").open("rb") as reader:
        assert not evict(begin_attempt(disk.volume, FIRST, 2))
        assert disk.volume.published() == [], "it is out of the way at once"
        assert not empty_trash(disk.volume)
        left = [path for path in disk.volume.trash.rglob("*") if path.is_file()]
        assert [path.name[:4] for path in left] == [".nfs"], "all else is gone"
        assert reader.read() == b"more"
        disk.fill()
        disk.assert_whole()
    assert empty_trash(disk.volume) and disk.left() == []


def test_what_somebody_reads_counts_until_it_is_removed(lying: Path) -> None:
    with running_server(lying / "data") as server, ExitStack() as stack:
        site = CacheSite(lying, server, stack, ["one"])
        server.admin.patch("/volumes/shared", json={"capacity_bytes": 3_000_000, "reserve_bytes": 0})
        small, first, second = (a_commit(server.deps, {"large": os.urandom(size)}) for size in (1000, *[2_000_000] * 2))
        leaving = [site.cache(commit) for commit in (small, first)]
        for cached in leaving:
            site.wait_for(cached, "ready")
        asked = {"dataset": f"xray@{second.id}", "volume": "shared"}
        with (site.path(first) / "large").open("rb"):
            site.clear(leaving[1])
            site.wait_for(leaving[1], "gone")
            assert 2_000_000 < site.row()["leftover_bytes"] < 2_100_000
            refused = server.admin.post("/caches", json=asked).text
            assert "2.0 MB are taken by evicted commits that may still be open" in refused
        site.clear(leaving[0])  # the next eviction counts anew
        site.wait_for(leaving[0], "gone")
        assert site.row()["leftover_bytes"] < 100_000
        site.wait_for(site.cache(second), "ready")


@pytest.mark.parametrize("answer", ["EMLINK", "EXDEV", "EPERM", "EOPNOTSUPP"])
def test_links_that_are_refused(disk: Disk, answer: str) -> None:
    disk.fill()
    disk.lie("link", answer)
    disk.lake.ranges.clear()
    disk.fill(SECOND, BaseTree(disk.volume.commit(FIRST), disk.tree, disk.lake))
    disk.assert_whole(SECOND)
    assert len(disk.lake.ranges) <= 1, "only the link's target was fetched"


def test_root_is_nobody_and_changes_no_permissions(disk: Disk) -> None:
    disk.lie("chmod")
    disk.lie("squash")
    check(disk.volume)
    found = probe(disk.volume)
    assert (found.chmod, found.squashed, found.link, found.symlink) == (False, True, True, True)
    disk.fill()
    disk.assert_whole()
    assert evict(begin_attempt(disk.volume, FIRST, 2))


def test_upper_and_lower_case_are_the_same(disk: Disk, tmp_path: Path) -> None:
    disk.lie("case")
    assert not probe(disk.volume).case_sensitive
    disk.fill()
    write_things(tmp_path / "both", [Thing(b"A", b"1"), Thing(b"a", b"2")])
    tree = push_directory(tmp_path / "both", disk.lake).tree.root
    disk.lake.accept(tree)
    with pytest.raises(Conflict, match="already exists"):
        fill(begin_attempt(disk.volume, SECOND, 1), tree, disk.lake)
    assert disk.left() == []
