"""Files of a snapshot are known by what they were in the tree."""

from __future__ import annotations

from pathlib import Path

import pytest

from millpond.lake import statcache
from millpond.lake.nursery import Nursery
from millpond.lake.push import PushOptions, push_directory
from millpond.testing.lake import DirectLake
from millpond.volumes.workspaces.identities import IdentityWriter, identified
from millpond.volumes.workspaces.tree_crew import work_on_tree
from millpond.volumes.workspaces.tree_process import Task

NAMES = ["a/b/file", "a/c", "a.b/file", "a0", "z", "a/b.txt"]


def copied(tree: Path, number: int) -> PushOptions:
    """Copy the tree with a record; how the copy is pushed."""
    copy, record = tree.parent / f"copy{number}", tree.parent / f"{number}.files"
    copy.mkdir()
    with IdentityWriter(record) as writer:
        work_on_tree(tree, copy, Task("copy"), Nursery(), noted=writer)
    return PushOptions(stat_cache=tree.parent / "stat", identify=lambda batches: identified(record, batches))


def make(tree: Path) -> None:
    for name in NAMES:
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_bytes(name.encode())


def test_only_files_that_changed_since_the_last_copy_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # As if everything had been changed long ago.
    monkeypatch.setattr(statcache, "RACY_NANOSECONDS", -(10**12))
    tree, lake = tmp_path / "tree", DirectLake()
    make(tree)
    first = push_directory(tmp_path / "copy1", lake, options=copied(tree, 1))
    lake.accept(first.tree.root)
    assert first.files_read == len(NAMES)

    (tree / "a" / "c").write_bytes(b"changed")
    (tree / "new").write_bytes(b"new")
    (tree / "z").unlink()
    second = push_directory(tmp_path / "copy2", lake, options=copied(tree, 2))
    assert second.files_read == 2
    assert second.tree.root == push_directory(tree, DirectLake()).tree.root


def test_a_file_that_was_changed_a_moment_before_is_read_again(tmp_path: Path) -> None:
    tree, lake = tmp_path / "tree", DirectLake()
    make(tree)
    lake.accept(push_directory(tmp_path / "copy1", lake, options=copied(tree, 1)).tree.root)
    assert push_directory(tmp_path / "copy2", lake, options=copied(tree, 2)).files_read == len(NAMES)


def test_without_a_record_everything_is_read(tmp_path: Path) -> None:
    tree, lake = tmp_path / "tree", DirectLake()
    make(tree)
    options = copied(tree, 1)
    (tmp_path / "1.files").unlink()
    assert push_directory(tmp_path / "copy1", lake, options=options).files_read == len(NAMES)
