"""A verification finds everything that is not as the tree says, heals it everywhere, and fetches nothing else."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from millpond.errors import VolumeProblem
from millpond.lake.push import push_directory
from millpond.lake.reader import TreeReader
from millpond.testing.lake import DirectLake, Thing, read_things, write_things
from millpond.volumes.attempt import begin_attempt
from millpond.volumes.bases import BaseTree
from millpond.volumes.fill import FillCancelled, fill
from millpond.volumes.heal import CacheDamage, Healer
from millpond.volumes.remove import remove_tree
from millpond.volumes.reuse_file import is_content
from millpond.volumes.verify import Checked, verify
from millpond.volumes.volume import CacheVolume, CommitPlace, adopt

FIRST, SECOND = (CommitPlace("project", "dataset", letter * 64) for letter in "ab")
THINGS = [
    Thing(b"a/b/c.txt", b"text"),
    Thing(b"a/d", b"more text"),
    Thing(b"empty", b""),
    Thing(b"hollow"),
    Thing(b"large", random.Random(1).randbytes(3_000_000)),
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
def tree(lake: DirectLake, volume: CacheVolume, tmp_path: Path) -> str:
    """Published twice, the second time by links to the first."""
    write_things(tmp_path / "source", THINGS)
    root = push_directory(tmp_path / "source", lake).tree.root
    lake.accept(root)
    fill(begin_attempt(volume, FIRST, 1), root, lake)
    fill(begin_attempt(volume, SECOND, 2), root, lake, bases=[BaseTree(volume.commit(FIRST), root, lake)])
    lake.ranges.clear()
    return root


def check(volume: CacheVolume, tree: str, lake: DirectLake, place: CommitPlace = FIRST) -> Checked:
    found = verify(begin_attempt(volume, place, 9), tree, lake, [FIRST, SECOND])
    assert os.listdir(volume.attempts) == []
    return found


def assert_whole(volume: CacheVolume) -> None:
    for place in (FIRST, SECOND):
        published = volume.commit(place)
        assert read_things(published) == THINGS
        assert {path.lstat().st_mtime for path in [published, *published.rglob("*")]} == {1_000_000_000}
        assert (published / "a/d").stat().st_mode & 0o7777 == 0o444


def damage(path: Path, content: bytes) -> None:
    """As a disk does it: other bytes, the same size and time."""
    before = path.stat()
    path.chmod(0o644)
    path.write_bytes(content)
    path.chmod(before.st_mode & 0o7777)
    os.utime(path, ns=(before.st_mtime_ns, before.st_mtime_ns))


def test_what_is_whole_is_read_and_left_alone(volume: CacheVolume, tree: str, lake: DirectLake) -> None:
    found = check(volume, tree, lake)
    files = [thing for thing in THINGS if thing.content is not None]
    assert (found.files, found.bytes) == (len(files), sum(len(thing.content or b"") for thing in THINGS))
    assert (found.damaged, found.missing, found.extra, found.healed) == (0, 0, 0, 0)
    assert lake.ranges == []
    assert_whole(volume)


def test_a_damaged_file_is_replaced_in_every_commit_that_shares_it(
    volume: CacheVolume, tree: str, lake: DirectLake
) -> None:
    first, second = volume.commit(FIRST) / "a/d", volume.commit(SECOND) / "a/d"
    assert first.samefile(second)
    damage(first, b"rotten   ")
    with second.open("rb") as reader:
        found = check(volume, tree, lake, SECOND)
        assert (found.damaged, found.healed, found.examples) == (1, 1, ("a/d",))
        assert reader.read() == b"rotten   ", "whoever has it open keeps what it had"
    assert 0 < found.fetched_bytes < 1000
    assert first.samefile(second), "healed, they are still one file"
    assert_whole(volume)


def test_a_number_that_another_file_has_got_meanwhile_is_not_what_was_shared(
    volume: CacheVolume, tree: str, lake: DirectLake
) -> None:
    """Somebody else has healed the damaged file, and the file system gave its inode to a file that is right."""
    innocent = volume.commit(SECOND) / "a/b/c.txt"
    damage_seen = CacheDamage(wrong=[b"a/d"], shared={innocent.stat().st_ino: b"a/d"})
    attempt = begin_attempt(volume, FIRST, 9)
    Healer(attempt, tree, lake, [volume.commit(SECOND)]).heal(damage_seen)
    attempt.remove()
    assert_whole(volume)


def test_it_ends_in_the_middle_of_a_large_file_and_of_a_fetch_when_it_is_not_wanted(
    volume: CacheVolume, tree: str, lake: DirectLake
) -> None:
    """Either may take hours, and somebody may want to clear the commit meanwhile."""

    def end(*_: object) -> None:
        raise FillCancelled

    large = next(entry for entry in TreeReader(lake, tree).entries() if entry.path == b"large")
    root = os.open(volume.commit(FIRST), os.O_RDONLY)
    with pytest.raises(FillCancelled):
        is_content(root, b"large", large, end)
    os.close(root)
    damage(volume.commit(FIRST) / "a/d", b"rotten   ")
    attempt = begin_attempt(volume, FIRST, 9)
    with pytest.raises(FillCancelled):
        Healer(attempt, tree, lake, [], end).heal(CacheDamage(wrong=[b"a/d"]))
    attempt.remove()
    check(volume, tree, lake)
    assert_whole(volume)


def test_one_byte_of_a_large_file(volume: CacheVolume, tree: str, lake: DirectLake) -> None:
    content = bytearray(THINGS[4].content or b"")
    content[2_000_000] ^= 1
    damage(volume.commit(FIRST) / "large", bytes(content))
    assert check(volume, tree, lake).damaged == 1
    assert_whole(volume)


def test_what_is_missing_comes_back_and_what_is_too_much_goes(volume: CacheVolume, tree: str, lake: DirectLake) -> None:
    published = volume.commit(FIRST)
    (published / "a/b/c.txt").unlink()
    (published / "a/b").rmdir()
    (published / "a/b").write_text("a file where a directory should be")
    (published / "hollow").rmdir()
    (published / "link").unlink()
    (published / "link").mkdir()
    (published / "run.sh").chmod(0o444)
    (published / "a/extra").mkdir()
    (published / "a/extra/file").write_text("x")
    found = check(volume, tree, lake)
    assert (found.missing, found.damaged, found.extra) == (2, 2, 2)
    assert found.healed == 6
    assert_whole(volume)
    assert check(volume, tree, lake).healed == 0


def test_permissions_are_put_right_without_fetching_anything(volume: CacheVolume, tree: str, lake: DirectLake) -> None:
    published = volume.commit(FIRST)
    (published / "a/d").chmod(0o666)  # one write to it would damage every commit that shares it
    (published / "run.sh").chmod(0o444)
    (published / "a/b").chmod(0o700)
    (published / "hollow").chmod(0o777)
    published.chmod(0o700)
    found = check(volume, tree, lake)
    assert (found.damaged, found.healed, found.fetched_bytes, lake.ranges) == (5, 5, 0, [])
    assert_whole(volume)
    for name in ("", "a", "a/b", "hollow"):
        assert (published / name).stat().st_mode & 0o7777 == 0o755
    assert check(volume, tree, lake).healed == 0


def test_what_is_not_published_is_told(volume: CacheVolume, tree: str, lake: DirectLake) -> None:
    with pytest.raises(VolumeProblem, match="does not exist"):
        check(volume, tree, lake, CommitPlace("project", "dataset", "d" * 64))


def test_paths_longer_than_the_system_takes_at_once_are_healed(
    volume: CacheVolume, lake: DirectLake, tmp_path: Path
) -> None:
    path = b"/".join([*[b"d" * 200] * 20, b"f" * (4095 - 20 * 201)])
    source = tmp_path / "source"
    source.mkdir()
    with below(source) as root:
        for end in range(200, len(path), 201):
            os.mkdir(path[:end], dir_fd=root)
        put(root, path, b"at the end of a long way")
    tree = push_directory(source, lake).tree.root
    lake.accept(tree)
    fill(begin_attempt(volume, FIRST, 1), tree, lake)
    fill(begin_attempt(volume, SECOND, 2), tree, lake, bases=[BaseTree(volume.commit(FIRST), tree, lake)])
    with below(volume.commit(FIRST)) as root:
        put(root, path, b"damaged")
    found = check(volume, tree, lake)
    assert (found.damaged, found.healed) == (1, 1)
    for place in (FIRST, SECOND):
        with below(volume.commit(place)) as root:
            assert read(root, path) == b"at the end of a long way"
    for name in (source, volume.commits):  # so that whoever cleans up after this can
        assert remove_tree(name)


@contextmanager
def below(directory: Path) -> Iterator[int]:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def put(root: int, path: bytes, content: bytes) -> None:
    with open(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o644, dir_fd=root), "wb") as file:
        file.write(content)


def read(root: int, path: bytes) -> bytes:
    with open(os.open(path, os.O_RDONLY, dir_fd=root), "rb") as file:
        return file.read()
