"""Files that the volume has are linked, copied where that is refused, and never trusted when they look touched."""

from __future__ import annotations

import errno
import os
import random
import threading
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from millpond.errors import Forbidden, StoreUnavailable
from millpond.lake.pages import Row
from millpond.lake.push import push_directory
from millpond.lake.reader import TreeReader, room_for_pages
from millpond.lake.target import Target
from millpond.lake.transfer import Moved
from millpond.model.fill_source import VOLUME_KEY, Given, SourceKey, SourceKind
from millpond.testing.lake import DirectLake, Thing, read_things, write_things
from millpond.volumes import local, reuse_file
from millpond.volumes.attempt import begin_attempt
from millpond.volumes.bases import BaseTree
from millpond.volumes.fill import FillCancelled, Filled, fill
from millpond.volumes.kept_pages import KeptSource
from millpond.volumes.source_watch import SourceWatch
from millpond.volumes.volume import CacheVolume, CommitPlace, adopt

V1, V2 = (CommitPlace("project", "dataset", letter * 64) for letter in "12")


def data(number: int, size: int = 2000) -> bytes:
    return random.Random(number).randbytes(size)


ELSEWHERE = SourceKey(SourceKind.MOUNT, "other")
BEFORE = [
    Thing(b"changed", b"before"),
    Thing(b"empty", b""),
    Thing(b"gone", b"gone"),
    Thing(b"large", data(1, 3_000_000)),
    Thing(b"mode", data(2)),
    Thing(b"moved/a", data(3)),
    *(Thing(f"same/{n:03d}".encode(), data(n)) for n in range(50)),
    Thing(b"twins/1", data(4)),
    Thing(b"twins/2", data(4)),
    Thing(b"tool", b"#!/bin/sh", executable=True),
]
AFTER = sorted(
    [
        *(thing for thing in BEFORE if thing.path not in (b"changed", b"gone", b"mode", b"moved/a")),
        Thing(b"changed", b"after!"),
        Thing(b"mode", data(2), executable=True),
        Thing(b"new/b", data(3)),
        Thing(b"new/c", data(99)),
    ],
    key=lambda thing: thing.path,
)
FETCHED = {b"changed", b"mode", b"new/c"}


class World:
    def __init__(self, root: Path) -> None:
        self.lake = DirectLake()
        self.volume = CacheVolume(root=root / "volume", id="v1")
        self.volume.root.mkdir()
        adopt(self.volume, "lake")
        self.trees = [self._push(root / name, things) for name, things in (("one", BEFORE), ("two", AFTER))]
        self.fill(V1, self.trees[0])
        self.lake.ranges.clear()

    def fill(self, place: CommitPlace, tree: str, *bases: BaseTree, **options: Any) -> Filled:
        return fill(begin_attempt(self.volume, place, 1), tree, self.lake, bases=bases, **options)

    def fill_second(self) -> Filled:
        return self.fill(V2, self.trees[1], BaseTree(self.volume.commit(V1), self.trees[0], self.lake))

    def inodes(self, place: CommitPlace, things: list[Thing]) -> dict[bytes, int]:
        root = self.volume.commit(place)
        return {thing.path: (root / os.fsdecode(thing.path)).lstat().st_ino for thing in things}

    def _push(self, source: Path, things: list[Thing]) -> str:
        write_things(source, things)
        root = push_directory(source, self.lake).tree.root
        self.lake.accept(root)
        return root


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def refused(number: int) -> Callable[..., None]:
    def refuse(*args: Any, **options: Any) -> None:
        raise OSError(number, os.strerror(number))

    return refuse


@pytest.fixture(params=[0, 2], ids=["threads", "processes"])
def linkers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few files are linked by threads, many by processes."""
    monkeypatch.setattr(local, "processes_for", lambda entries: request.param)


@pytest.mark.usefixtures("linkers")
def test_only_the_difference_is_fetched(world: World) -> None:
    filled = world.fill_second()
    assert read_things(world.volume.commit(V2)) == AFTER
    before, after = world.inodes(V1, BEFORE), world.inodes(V2, AFTER)
    linked = {thing.path for thing in AFTER} - FETCHED - {b"new/b"}
    assert all(after[path] == before[path] for path in linked)
    assert after[b"new/b"] == before[b"moved/a"], "what has only moved is linked too"
    assert not {after[path] for path in FETCHED} & set(before.values())
    assert filled.gave(SourceKind.VOLUME).files == len(linked) + 1
    assert 0 < filled.gave(SourceKind.LAKE).bytes < 10_000
    assert {path.stat().st_mtime for path in world.volume.commit(V2).rglob("*")} == {1_000_000_000}


@pytest.mark.parametrize("number", [errno.EMLINK, errno.EXDEV, errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP])
def test_where_links_are_refused_files_are_copied(world: World, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "link", refused(number))
    filled = world.fill_second()
    assert read_things(world.volume.commit(V2)) == AFTER
    assert filled.gave(SourceKind.LAKE).bytes < 10_000
    assert not set(world.inodes(V1, BEFORE).values()) & set(world.inodes(V2, AFTER).values())
    modes = {path.name: path.stat().st_mode & 0o7777 for path in world.volume.commit(V2).iterdir()}
    assert (modes["tool"], modes["large"]) == (0o555, 0o444)


@pytest.mark.usefixtures("linkers")
def test_a_file_that_was_written_to_is_not_taken(world: World) -> None:
    touched = world.volume.commit(V1) / "same/007"
    touched.chmod(0o644)
    touched.write_bytes(data(8))
    touched.chmod(0o444)
    world.fill_second()
    assert read_things(world.volume.commit(V2)) == AFTER


def test_a_copy_of_a_damaged_file_is_not_made(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Damaged on the disk, which no time tells; every byte passes through here when it is copied."""
    damaged = world.volume.commit(V1) / "same/007"
    damaged.chmod(0o644)
    damaged.write_bytes(data(8))
    damaged.chmod(0o444)
    os.utime(damaged, ns=(10**18, 10**18))
    monkeypatch.setattr(os, "link", refused(errno.EXDEV))
    monkeypatch.setattr("fcntl.ioctl", refused(errno.EOPNOTSUPP))
    world.fill_second()
    assert read_things(world.volume.commit(V2)) == AFTER


def test_what_a_process_does_not_link_is_made_otherwise(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of several folders, cut into several orders: a file that was written to, one that is gone, and all the others."""
    monkeypatch.setattr(local, "processes_for", lambda entries: 2)
    monkeypatch.setattr(local, "_LINKED_LEAST", 7)
    monkeypatch.setattr(local, "_LINKED_MOST", 20)
    things = [Thing(f"{n // 30}/{n:04d}".encode(), data(n, 100)) for n in range(200)]
    tree = world._push(tmp_path / "folders", things)
    first, second = (CommitPlace("project", "dataset", letter * 64) for letter in "cd")
    world.fill(first, tree)
    touched, gone = (world.volume.commit(first) / name for name in ("1/0037", "2/0060"))
    os.utime(touched)
    gone.unlink()
    filled = world.fill(second, tree, BaseTree(world.volume.commit(first), tree, world.lake))
    assert filled.gave(SourceKind.VOLUME).files == 198
    assert read_things(world.volume.commit(second)) == things


def test_a_base_that_was_evicted_meanwhile_is_no_obstacle(world: World) -> None:
    gone = BaseTree(world.volume.commits / "nowhere", world.trees[0], world.lake)
    assert world.fill(V2, world.trees[1], gone).gave(SourceKind.VOLUME).files == 0
    assert read_things(world.volume.commit(V2)) == AFTER


def test_a_commit_elsewhere_is_copied_from(world: World) -> None:
    elsewhere = BaseTree(world.volume.commit(V1), world.trees[0], world.lake, ELSEWHERE)
    filled = world.fill(V2, world.trees[0], elsewhere)
    assert (filled.gave(SourceKind.MOUNT).files, filled.gave(SourceKind.VOLUME).files) == (len(BEFORE), 0)
    shared = set(world.inodes(V1, BEFORE).values()) & set(world.inodes(V2, BEFORE).values())
    assert shared == set(), "two volumes share nothing, even on one file system"


def test_what_is_damaged_elsewhere_comes_from_the_lake(world: World) -> None:
    damaged = world.volume.commit(V1) / "same/007"
    damaged.chmod(0o644)
    damaged.write_bytes(data(8))
    damaged.chmod(0o444)
    os.utime(damaged, ns=(10**18, 10**18))
    elsewhere = BaseTree(world.volume.commit(V1), world.trees[0], world.lake, ELSEWHERE)
    filled = world.fill(V2, world.trees[0], elsewhere)
    assert read_things(world.volume.commit(V2)) == sorted(BEFORE, key=lambda thing: thing.path)
    assert filled.gave(SourceKind.MOUNT).files == len(BEFORE) - 1
    assert filled.gave(SourceKind.LAKE).bytes > 0


def test_a_commit_elsewhere_that_comes_much_too_slowly_is_left(world: World) -> None:
    watch = SourceWatch(expected=1e9, lake=1e8, clock=count(step=2.0).__next__)
    elsewhere = BaseTree(world.volume.commit(V1), world.trees[0], world.lake, ELSEWHERE, watch)
    filled = world.fill(V2, world.trees[0], elsewhere)
    assert read_things(world.volume.commit(V2)) == sorted(BEFORE, key=lambda thing: thing.path)
    assert (watch.given_up or "").startswith("It is too slow: ")
    assert 0 < filled.gave(SourceKind.MOUNT).files < len(BEFORE), "what had come by then is kept"
    assert filled.gave(SourceKind.LAKE).bytes > 0


def test_a_base_whose_pages_cannot_be_read_is_no_obstacle(world: World) -> None:
    class Refused:
        def page(self, page_id: str) -> bytes:
            raise Forbidden("It was evicted meanwhile.")

    unreadable = BaseTree(world.volume.commit(V1), world.trees[0], Refused())
    assert world.fill(V2, world.trees[1], unreadable).gave(SourceKind.VOLUME).files == 0
    assert read_things(world.volume.commit(V2)) == AFTER


def test_an_interrupted_attempt_is_taken_up_where_it_was(world: World) -> None:
    def stop_late(moved: Moved) -> None:
        if moved.bytes > 3_000_000:
            raise StoreUnavailable("The store is away.")

    with pytest.raises(StoreUnavailable):
        world.fill(V2, world.trees[1], progress=stop_late)
    (left,) = world.volume.attempts.iterdir()
    (left / "tree" / "same/001").chmod(0o644)
    with (left / "tree" / "same/001").open("ab") as torn:
        torn.write(b"torn")
    world.lake.ranges.clear()
    filled = world.fill(V2, world.trees[1])
    assert filled.gave(SourceKind.VOLUME).files > 5
    assert read_things(world.volume.commit(V2)) == AFTER
    assert os.listdir(world.volume.attempts) == []


def test_what_a_stopped_process_still_writes_changes_nothing(world: World) -> None:
    """It holds its directory open, finishes a file there and publishes, when another has taken over."""
    stopped = begin_attempt(world.volume, V2, 1)
    stopped.tree.mkdir()
    root = os.open(stopped.tree, os.O_RDONLY)
    world.fill(V2, world.trees[1])
    with pytest.raises(FileNotFoundError):
        os.close(os.open("late", os.O_CREAT | os.O_EXCL | os.O_WRONLY, dir_fd=root))
    os.close(root)
    fill(stopped, world.trees[1], world.lake)
    assert read_things(world.volume.commit(V2)) == AFTER


def test_a_cancelled_fill_leaves_nothing(world: World) -> None:
    def cancel(moved: Moved) -> None:
        raise FillCancelled

    with pytest.raises(FillCancelled):
        world.fill(V2, world.trees[1], progress=cancel)
    assert os.listdir(world.volume.attempts) == []


def test_thousands_of_identical_files(world: World, tmp_path: Path) -> None:
    """More links than some file systems give one file: each keeps its own, and is linked to the next commit."""
    things = [Thing(f"{n:04d}".encode(), b"the same") for n in range(3000)]
    tree = world._push(tmp_path / "same", things)
    places = [CommitPlace("project", "dataset", letter * 64) for letter in "cd"]
    world.fill(places[0], tree)
    world.lake.ranges.clear()
    filled = world.fill(places[1], tree, BaseTree(world.volume.commit(places[0]), tree, world.lake))
    assert (filled.given, world.lake.ranges) == ({VOLUME_KEY: Given(3000 * len(b"the same"), 3000)}, [])
    assert len(set(world.inodes(places[0], things).values())) == 3000
    assert world.inodes(places[0], things) == world.inodes(places[1], things)


def test_threads_that_still_link_after_an_error_have_a_directory_of_their_own(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name below a directory that was closed meanwhile would be made wherever the agent happens to be."""
    is_closed = threading.Event()
    below: list[int | None] = []

    def is_taken(candidate: reuse_file.ReusableFile, row: Row, into: Target, came: Callable[[int], None]) -> bool:
        assert is_closed.wait(30)
        below.append(into.descriptor)
        return reuse_file.is_taken(candidate, row, into, came)

    monkeypatch.setattr(local, "is_taken", is_taken)
    pages = KeptSource(world.lake, room_for_pages())
    base = BaseTree(world.volume.commit(V1), world.trees[0], world.lake)
    rows = TreeReader(pages, world.trees[0]).leaf(world.trees[0]).rows()
    with local.LocalFiles(pages, world.trees[0], [base], []) as files:
        with Target(tmp_path / "tree", read_only=True) as into:
            (tmp_path / "tree/same").mkdir()
            _, waiting = files([row for row in rows if row[0].startswith(b"same/")], into)
        is_closed.set()
        assert waiting() == []
    assert len(below) == 50 and None not in below
    assert len(os.listdir(tmp_path / "tree/same")) == 50
