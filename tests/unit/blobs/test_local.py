from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from millpond.blobs.local import LocalStore
from millpond.errors import DiskFull, StoreUnavailable


def files_below(root: Path) -> list[str]:
    return sorted(p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_file())


def test_leaves_nothing_aside(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    store.put("a/b", b"x")
    store.put("a/b", b"y", if_absent=False)
    assert files_below(tmp_path) == ["a/b"]


def test_unfinished_objects_are_not_listed(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    (tmp_path / ".unfinished" / "left-by-a-crash").write_bytes(b"half")
    assert list(store.list()) == []


def test_a_lake_that_is_not_mounted_is_away_and_not_empty(tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "lake")
    store.put("a/b", b"1")
    (tmp_path / "lake").rename(tmp_path / "away")
    (tmp_path / "lake").mkdir()  # the mount point
    for used in (store.get, store.head, store.delete, store.path, lambda key: store.put(key, b"2"), _list(store)):
        with pytest.raises(StoreUnavailable, match="missing or empty"):
            used("a/b")
    assert list((tmp_path / "lake").iterdir()) == []
    (tmp_path / "lake").rmdir()
    (tmp_path / "away").rename(tmp_path / "lake")
    assert store.get("a/b") == b"1"


def _list(store: LocalStore) -> Callable[[str], object]:
    return lambda prefix: list(store.list(prefix))


@pytest.mark.parametrize(("number", "expected"), [(errno.ENOSPC, DiskFull), (errno.EIO, StoreUnavailable)])
def test_a_failed_sync_publishes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, expected: type[Exception]
) -> None:
    store = LocalStore(tmp_path)

    def fail(descriptor: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(expected) as caught:
        store.put("key", b"x")
    assert isinstance(caught.value.__cause__, OSError)
    assert files_below(tmp_path) == []


def test_syncs_the_object_before_its_name_and_the_name_before_returning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = LocalStore(tmp_path)
    store.put("dir/first", b"x")
    seen: list[tuple[str, bool]] = []
    real = os.fsync

    def watch(descriptor: int) -> None:
        kind = "directory" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file"
        seen.append((kind, (tmp_path / "dir/key").exists()))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", watch)
    store.put("dir/key", b"x")
    assert seen == [("file", False), ("directory", True)]
