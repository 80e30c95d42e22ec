from __future__ import annotations

from pathlib import Path

import pytest

from millpond.lake.fetch import fetch_tree
from millpond.lake.push import push_directory
from millpond.lake.verify import verify_directory, verify_tree
from millpond.testing.lake import DirectLake, Thing, write_things


@pytest.fixture
def lake() -> DirectLake:
    return DirectLake()


@pytest.fixture
def root(lake: DirectLake, tmp_path: Path) -> str:
    write_things(
        tmp_path / "source",
        [Thing(b"a", b"aaaa"), Thing(b"b", b"bbbb"), Thing(b"big", b"x" * (3 << 20)), Thing(b"d"), Thing(b"e", b"")],
    )
    root = push_directory(tmp_path / "source", lake).tree.root
    lake.accept(root)
    return root


def pack_key(lake: DirectLake) -> str:
    (info,) = lake.store.list(lake.keys.packs)
    return info.key


def test_a_whole_lake_has_no_damage(lake: DirectLake, root: str) -> None:
    assert list(verify_tree(lake, root)) == []


def test_finds_the_file_whose_bytes_are_wrong(lake: DirectLake, root: str) -> None:
    pack = bytearray(lake.store.get(pack_key(lake)))
    pack[pack.index(b"bbbb")] ^= 1
    lake.store.put(pack_key(lake), pack)
    assert [damage.paths for damage in verify_tree(lake, root)] == [(b"b",)]


def test_finds_what_is_gone(lake: DirectLake, root: str) -> None:
    lake.store.delete(pack_key(lake))
    assert list(verify_tree(lake, root))
    lake.store.delete(lake.keys.locator(root))
    (damage,) = verify_tree(lake, root)
    assert damage.paths == (b"a",)


def test_compares_a_directory(lake: DirectLake, root: str, tmp_path: Path) -> None:
    target = tmp_path / "target"
    fetch_tree(lake, root, target)
    assert list(verify_directory(lake, root, target)) == []
    (target / "a").write_bytes(b"AAAA")
    (target / "b").unlink()
    (target / "d/new").write_bytes(b"")
    (target / "e").chmod(0o755)
    changes = {change.path: change.change for change in verify_directory(lake, root, target)}
    assert changes == {b"a": "changed", b"b": "removed", b"d": "removed", b"d/new": "added", b"e": "changed"}
