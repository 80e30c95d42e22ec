"""A directory that has not changed is known by names and timestamps alone; whatever has changed is noticed."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from millpond.lake.push import PushOptions, push_directory, seen_before
from millpond.testing.lake import DirectLake

FILES = 150


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "folder"
    for number in range(FILES):
        path = root / f"{number % 3}" / f"{number:05d}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"%d" % number)
    (root / "empty").mkdir()
    (root / "link").symlink_to("0/00000")
    return root


@pytest.fixture
def options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PushOptions:
    # A change of a file sets its ctime, which nobody can set back: the rule about fresh files would hold for all.
    monkeypatch.setattr("millpond.lake.statcache.RACY_NANOSECONDS", -(10**18))
    monkeypatch.setattr("millpond.lake.unchanged_tree._PER_DIGEST", 40)
    return PushOptions(stat_cache=tmp_path / "stat-cache")


def pushed(folder: Path, options: PushOptions) -> str:
    return push_directory(folder, DirectLake(), options=options).tree.root


def test_the_same_directory_is_known(folder: Path, options: PushOptions) -> None:
    assert seen_before(folder, options) is None
    tree = pushed(folder, options)
    assert seen_before(folder, options) == tree
    assert pushed(folder, options) == tree
    assert seen_before(folder, options) == tree


def replace_keeping_times(path: Path) -> None:
    before = path.stat()
    aside = path.with_name("aside")
    aside.write_bytes(path.read_bytes()[::-1])
    os.utime(aside, ns=(before.st_atime_ns, before.st_mtime_ns))
    aside.replace(path)


CHANGES: dict[str, Callable[[Path], object]] = {
    "first file": lambda root: (root / "0/00000").write_bytes(b"other"),
    "last file": lambda root: (root / "2/00149").write_bytes(b"other"),
    "same length and time": lambda root: replace_keeping_times(root / "1/00100"),
    "mode": lambda root: (root / "1/00100").chmod(0o755),
    "new file at the end": lambda root: (root / "zzz").write_bytes(b""),
    "removed file": lambda root: (root / "2/00149").unlink(),
    "empty directory gone": lambda root: (root / "empty").rmdir(),
    "another empty directory": lambda root: (root / "zzz").mkdir(),
    "link": lambda root: ((root / "link").unlink(), (root / "link").symlink_to("1/00001")),
    "ignored": lambda root: (root / ".millignore").write_text("00149\n"),
    "renamed": lambda root: (root / "2/00149").rename(root / "2/00148x"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_every_change_is_noticed(folder: Path, options: PushOptions, change: Callable[[Path], object]) -> None:
    before = pushed(folder, options)
    change(folder)
    assert seen_before(folder, options) is None
    after = pushed(folder, options)
    assert after != before
    assert seen_before(folder, options) == after


def test_fresh_files_are_not_trusted(folder: Path, tmp_path: Path) -> None:
    """Written a moment ago, a file may change again without a new timestamp."""
    options = PushOptions(stat_cache=tmp_path / "stat-cache")
    pushed(folder, options)
    assert seen_before(folder, options) is None


def test_rehash_reads_everything(folder: Path, options: PushOptions) -> None:
    pushed(folder, options)
    assert seen_before(folder, PushOptions(stat_cache=options.stat_cache, rehash=True)) is None


@pytest.mark.parametrize("damage", [b"", b"MWK1", b"MWK1" + bytes(100)])
def test_a_damaged_file_is_as_good_as_absent(folder: Path, options: PushOptions, damage: bytes) -> None:
    tree = pushed(folder, options)
    assert options.walk is not None
    whole = options.walk.read_bytes()
    options.walk.write_bytes(damage or whole[:-1])
    assert seen_before(folder, options) is None
    assert pushed(folder, options) == tree


def test_warnings_are_given_all_the_same(folder: Path, options: PushOptions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
        pushed(folder, options)
        warnings: list[bytes] = []
        assert seen_before(folder, options, lambda path, why: warnings.append(path))
    assert warnings == [b"socket"]
