"""A filled commit is whole, read-only and published by one rename, or not there at all."""

from __future__ import annotations

import errno
import gc
import os
import stat
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from millpond.errors import Corrupt, DiskFull, StoreUnavailable, VolumeProblem
from millpond.lake.push import push_directory
from millpond.lake.reader import room_for_pages
from millpond.lake.transfer import Moved
from millpond.model.dataset import BlobPlace
from millpond.testing.lake import DirectLake, Thing, read_things, write_things
from millpond.volumes.attempt import begin_attempt
from millpond.volumes.bases import BaseTree
from millpond.volumes.evict import evict
from millpond.volumes.fill import FillCancelled, fill
from millpond.volumes.volume import CacheVolume, CommitPlace, adopt

PLACE = CommitPlace("project", "dataset", "c" * 64)
THINGS = [
    Thing(b"a/b/c.txt", b"text"),
    Thing(b"empty"),
    Thing(b"large", os.urandom(3_000_000)),
    Thing(b"link", b"a/b/c.txt", link=True),
    Thing(b"run.sh", b"#!/bin/sh\n", executable=True),
]


@pytest.fixture
def volume(tmp_path: Path) -> CacheVolume:
    found = CacheVolume(root=tmp_path / "volume", id="v1")
    found.root.mkdir()
    adopt(found, "lake")
    return found


@pytest.fixture
def lake() -> DirectLake:
    return DirectLake()


@pytest.fixture
def tree(lake: DirectLake, tmp_path: Path) -> str:
    write_things(tmp_path / "source", THINGS)
    root = push_directory(tmp_path / "source", lake).tree.root
    lake.accept(root)
    return root


def test_a_filled_commit_is_the_tree(volume: CacheVolume, lake: DirectLake, tree: str) -> None:
    told: list[Moved] = []
    fill(begin_attempt(volume, PLACE, 5), tree, lake, progress=told.append)
    published = volume.commit(PLACE)
    assert read_things(published) == THINGS
    assert volume.published() == [PLACE]
    assert os.listdir(volume.attempts) == []
    assert told[-1].files == told[-1].files_total
    assert stat.S_IMODE((published / "a/b/c.txt").stat().st_mode) == 0o444
    assert stat.S_IMODE((published / "run.sh").stat().st_mode) == 0o555
    assert {path.lstat().st_mtime for path in published.rglob("*")} == {1_000_000_000}
    assert published.stat().st_mtime == 1_000_000_000


def test_what_is_published_can_be_reached_whatever_the_umask(volume: CacheVolume, lake: DirectLake, tree: str) -> None:
    before = os.umask(0o077)
    try:
        fill(begin_attempt(volume, PLACE, 5), tree, lake)
    finally:
        os.umask(before)
    published = volume.commit(PLACE)
    way = [volume.commits, published.parent.parent, published.parent, published, published / "a", published / "a/b"]
    assert {stat.S_IMODE(directory.stat().st_mode) for directory in way} == {0o755}
    assert stat.S_IMODE((published / "a/b/c.txt").stat().st_mode) == 0o444


def test_pages_are_read_once_for_all_fills_that_share_them(
    volume: CacheVolume, lake: DirectLake, tree: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    page = lake.page
    monkeypatch.setattr(lake, "page", lambda page_id: (read.append(page_id), page(page_id))[1])
    kept = room_for_pages()
    for attempt, commit in enumerate(("c1", "c2"), start=1):
        place = CommitPlace("p1", "d1", commit)
        bases = [BaseTree(volume.commit(CommitPlace("p1", "d1", "c1")), tree, lake)] if attempt > 1 else []
        fill(begin_attempt(volume, place, attempt), tree, lake, bases=bases, kept=kept)
    assert read
    assert len(read) == len(set(read))


def test_filling_again_moves_nothing(volume: CacheVolume, lake: DirectLake, tree: str) -> None:
    fill(begin_attempt(volume, PLACE, 5), tree, lake)
    lake.ranges.clear()
    fill(begin_attempt(volume, PLACE, 5), tree, lake)
    assert lake.ranges == []


def test_what_an_interrupted_attempt_left_is_thrown_away(volume: CacheVolume, lake: DirectLake, tree: str) -> None:
    (begin_attempt(volume, PLACE, 5).tree / "half").mkdir(parents=True)
    fill(begin_attempt(volume, PLACE, 5), tree, lake)
    assert read_things(volume.commit(PLACE)) == THINGS


def test_a_cancelled_fill_publishes_nothing(volume: CacheVolume, lake: DirectLake, tree: str) -> None:
    def cancel(moved: Moved) -> None:
        raise FillCancelled

    with pytest.raises(FillCancelled):
        fill(begin_attempt(volume, PLACE, 5), tree, lake, progress=cancel)
    assert volume.published() == []


def test_damaged_bytes_are_never_published(volume: CacheVolume, lake: DirectLake, tree: str) -> None:
    class Damaged(DirectLake):
        def pack_range(self, pack_id: str, start: int, end: int) -> bytes:
            return bytes(len(super().pack_range(pack_id, start, end)))

    damaged = Damaged(lake.store)
    with pytest.raises(Corrupt):
        fill(begin_attempt(volume, PLACE, 5), tree, damaged)
    assert volume.published() == []


def test_a_lake_that_is_away_is_not_a_problem_of_the_volume(volume: CacheVolume, lake: DirectLake, tree: str) -> None:
    class Away(DirectLake):
        def locator(self, page_id: str) -> Mapping[bytes, BlobPlace]:
            raise ConnectionResetError("reset by peer")

    class Busy(DirectLake):
        def locator(self, page_id: str) -> Mapping[bytes, BlobPlace]:
            raise StoreUnavailable("http://store/pack: answered 503")

    for away in (Away, Busy):
        with pytest.raises(StoreUnavailable, match=r"^The lake does not respond: (reset by peer|http://store/pack)"):
            fill(begin_attempt(volume, PLACE, 5), tree, away(lake.store))


def test_a_volume_that_was_replaced_is_not_written_to(
    volume: CacheVolume, lake: DirectLake, tree: str, tmp_path: Path
) -> None:
    attempt = begin_attempt(volume, PLACE, 5)
    volume.root.rename(tmp_path / "taken-away")
    volume.root.mkdir()
    with pytest.raises(VolumeProblem):
        fill(attempt, tree, lake)
    assert os.listdir(volume.root) == []


def test_what_may_not_be_written_now_may_be_later(
    volume: CacheVolume, lake: DirectLake, tree: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object, **options: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    with monkeypatch.context() as refused:
        refused.setattr(os, "symlink", refuse)
        with pytest.raises(VolumeProblem, match="Permission denied"):
            fill(begin_attempt(volume, PLACE, 5), tree, lake)
    assert os.listdir(volume.attempts) == []
    fill(begin_attempt(volume, PLACE, 5), tree, lake)
    assert read_things(volume.commit(PLACE)) == THINGS


def test_a_reader_keeps_an_evicted_file_open(volume: CacheVolume, lake: DirectLake, tree: str) -> None:
    fill(begin_attempt(volume, PLACE, 5), tree, lake)
    with open(volume.commit(PLACE) / "a/b/c.txt", "rb") as reader:
        assert evict(begin_attempt(volume, PLACE, 6))
        assert reader.read() == b"text"
    assert volume.published() == []


@contextmanager
def small_file_system(tmp_path: Path) -> Iterator[Path]:
    """Room for a few files only."""
    if os.geteuid() != 0 or os.system(f"mount -t tmpfs -o size=1m tmpfs {tmp_path} 2>/dev/null") != 0:
        pytest.skip("mounting needs root")
    try:
        yield tmp_path
    finally:
        os.system(f"umount {tmp_path}")


def test_a_full_disk_is_told_and_leaves_nothing_published(lake: DirectLake, tree: str, tmp_path: Path) -> None:
    root = tmp_path / "small"
    root.mkdir()
    with small_file_system(root):
        volume = CacheVolume(root=root, id="v2")
        adopt(volume, "lake")
        with pytest.raises(DiskFull):
            fill(begin_attempt(volume, PLACE, 5), tree, lake)
        assert volume.published() == []


def test_nothing_of_a_failed_fill_stays_in_memory(lake: DirectLake, tmp_path: Path) -> None:
    """An agent tries again and again: what had been read must not wait for a collection of garbage."""
    write_things(tmp_path / "source", [Thing(b"large", os.urandom(60_000_000))])
    tree = push_directory(tmp_path / "source", lake).tree.root
    lake.accept(tree)
    root = tmp_path / "small"
    root.mkdir()
    source = DirectLake(lake.store)
    left = weakref.ref(source)
    gc.disable()
    try:
        with small_file_system(root):
            volume = CacheVolume(root=root, id="v2")
            adopt(volume, "lake")
            with suppress(DiskFull):
                fill(begin_attempt(volume, PLACE, 5), tree, source)
        del source
        assert left() is None
    finally:
        gc.enable()


def test_a_read_only_volume_is_told(lake: DirectLake, tree: str, tmp_path: Path) -> None:
    root = tmp_path / "small"
    root.mkdir()
    with small_file_system(root):
        volume = CacheVolume(root=root, id="v2")
        adopt(volume, "lake")
        os.system(f"mount -o remount,ro {root}")
        with pytest.raises(VolumeProblem, match="read-only"):
            fill(begin_attempt(volume, PLACE, 5), tree, lake)
