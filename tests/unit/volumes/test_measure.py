"""What trees take and share on a volume is what their inodes say."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from millpond.volumes.measure import Share, measure
from millpond.volumes.remove import remove_tree
from millpond.volumes.volume import CacheVolume, CommitPlace

PLACES = [CommitPlace("project", "dataset", letter * 64) for letter in "abc"]
A, B, C = (place.commit_id for place in PLACES)


@pytest.fixture
def volume(tmp_path: Path) -> CacheVolume:
    """`one` in a alone, `two` in a and b, `three` in all, twice in c; c has a link and a directory."""
    found = CacheVolume(root=tmp_path, id="v1")
    a, b, c = (found.commit(place) for place in PLACES)
    for tree in (a, b, c):
        (tree / "below").mkdir(parents=True)
    for name, others in (("one", ()), ("two", (b,)), ("three", (b, c))):
        (a / name).write_bytes(os.urandom(10_000))
        for other in others:
            (other / name).hardlink_to(a / name)
    (c / "below" / "again").hardlink_to(a / "three")
    (c / "link").symlink_to("/etc")
    return found


def expected(volume: CacheVolume) -> list[Share]:
    a, b, c = (volume.commit(place) for place in PLACES)

    def size(*paths: Path) -> int:
        return sum(path.lstat().st_blocks * 512 for path in paths)

    return [
        Share(frozenset({A}), size(a, a / "below", a / "one"), 3),
        Share(frozenset({B}), size(b, b / "below"), 2),
        Share(frozenset({A, B}), size(a / "two"), 1),
        Share(frozenset({C}), size(c, c / "below", c / "link"), 3),
        Share(frozenset({A, B, C}), size(a / "three"), 1),
    ]


@pytest.mark.parametrize("at_once", [1, 2, 100])
def test_shares_are_what_is_allocated(volume: CacheVolume, at_once: int) -> None:
    assert measure(volume, PLACES, at_once=at_once) == expected(volume)


def test_what_is_gone_counts_nothing(volume: CacheVolume) -> None:
    gone = CommitPlace("project", "dataset", "d" * 64)
    assert measure(volume, [*PLACES, gone]) == expected(volume)
    assert measure(volume, []) == []


def test_paths_longer_than_the_system_takes_at_once_are_measured(volume: CacheVolume) -> None:
    place = CommitPlace("project", "dataset", "e" * 64)
    tree = volume.commit(place)
    tree.mkdir(parents=True)
    root = os.open(tree, os.O_RDONLY | os.O_DIRECTORY)
    try:
        names = ["d" * 200] * 19
        for depth in range(1, len(names) + 1):
            os.mkdir("/".join(names[:depth]), dir_fd=root)
        os.close(os.open("/".join([*names, "f" * 150]), os.O_CREAT | os.O_WRONLY, dir_fd=root))
    finally:
        os.close(root)
    (share,) = measure(volume, [place])
    assert (share.commits, share.inodes) == (frozenset({place.commit_id}), 1 + len(names) + 1)
    aside = volume.root / "aside"  # so that whoever cleans up after this can
    tree.rename(aside)
    assert remove_tree(aside)
