"""Changing a folder in place from any tree to any other, and leaving alone what is nobody's."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from millpond.errors import Conflict, Corrupt
from millpond.lake.diff import diff_trees
from millpond.lake.push import push_directory
from millpond.lake.update import Moment, moment_in, preparing_update
from millpond.model.tree import TreeChange
from millpond.testing.lake import DirectLake, without_conflicts

PATHS = ["a", "a-b", "a/b", "a/b/c", "a/d", "e", "e/f", "g"]

# Path → content of a file, "/" for an empty directory, "->x" for a link, "#…" for an executable file.
Model = dict[str, str]


def models() -> st.SearchStrategy[Model]:
    chosen = st.sets(st.sampled_from(PATHS)).map(
        lambda paths: [path.decode() for path in without_conflicts(path.encode() for path in paths)]
    )
    contents = st.sampled_from(["", "one", "two", "/", "->a", "->/etc", "#run"])
    return chosen.flatmap(lambda paths: st.fixed_dictionaries(dict.fromkeys(paths, contents)))


def write(root: Path, model: Model) -> Path:
    root.mkdir(exist_ok=True)
    for name, content in model.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if content == "/":
            path.mkdir()
        elif content.startswith("->"):
            path.symlink_to(content[2:])
        else:
            path.write_text(content)
            path.chmod(0o755 if content.startswith("#") else 0o644)
    return root


def pushed(lake: DirectLake, root: Path) -> str:
    tree = push_directory(root, lake).tree.root
    lake.accept(tree)
    return tree


def update_directory(
    folder: Path, lake: DirectLake, tree: str, changes: list[TreeChange], *, seen: Moment, overwrite: bool = False
) -> None:
    with preparing_update(folder, lake, tree, changes, seen=seen, overwrite=overwrite) as update:
        update.apply()


@given(models(), models())
@example({"a": "->a", "a-b": ""}, {"a/b": ""})  # a link that leads to itself, where a directory comes
@example({"a": "->c", "c/b": "x"}, {"a/b": "", "c/b": "x"})  # one that leads to a directory with the same names
def test_any_folder_becomes_any_other(before: Model, after: Model) -> None:
    lake = DirectLake()
    with TemporaryDirectory() as temporary:
        folder = write(Path(temporary) / "folder", before)
        old, new = pushed(lake, folder), pushed(lake, write(Path(temporary) / "other", after))
        changes = list(diff_trees(lake, old, new))
        update_directory(folder, lake, new, changes, seen=moment_in(folder))
        assert push_directory(folder, lake).tree.root == new
        assert list((folder / ".mill").iterdir()) == []


@pytest.fixture
def lake() -> DirectLake:
    return DirectLake()


def trees(lake: DirectLake, root: Path, before: Model, after: Model) -> tuple[Path, str, str]:
    folder = write(root / "folder", before)
    return folder, pushed(lake, folder), pushed(lake, write(root / "other", after))


def test_only_what_differs_is_fetched_and_touched(lake: DirectLake, tmp_path: Path) -> None:
    same = {f"same-{number}": "x" * number for number in range(50)}
    folder, old, new = trees(lake, tmp_path, {**same, "a": "one"}, {**same, "a": "two"})
    untouched = (folder / "same-3").stat()
    lake.ranges.clear()
    update_directory(folder, lake, new, list(diff_trees(lake, old, new)), seen=moment_in(folder))
    assert (folder / "a").read_text() == "two"
    assert sum(end - start for _, start, end in lake.ranges) == 3
    assert (folder / "same-3").stat() == untouched


def test_what_is_changed_meanwhile_is_not_overwritten(lake: DirectLake, tmp_path: Path) -> None:
    folder, old, new = trees(lake, tmp_path, {"a": "one", "b": "one"}, {"a": "two"})
    seen = moment_in(folder)
    changes = list(diff_trees(lake, old, new))
    later = seen.nanoseconds + 10**9
    (folder / "b").write_text("just now")
    os.utime(folder / "b", ns=(later, later))
    with pytest.raises(Conflict, match="'b'"):
        update_directory(folder, lake, new, changes, seen=seen)
    assert (folder / "a").read_text() == "one"
    assert (folder / "b").read_text() == "just now"
    update_directory(folder, lake, new, changes, seen=seen, overwrite=True)
    assert not (folder / "b").exists()


def test_an_ignored_file_is_not_overwritten(lake: DirectLake, tmp_path: Path) -> None:
    folder, old, new = trees(lake, tmp_path, {"a": "one"}, {"a": "one", "notes.log": "theirs"})
    (folder / "notes.log").write_text("mine")
    with pytest.raises(Conflict, match=r"'notes\.log'"):
        update_directory(folder, lake, new, list(diff_trees(lake, old, new)), seen=moment_in(folder))
    assert (folder / "notes.log").read_text() == "mine"


def test_nothing_is_written_through_a_link(lake: DirectLake, tmp_path: Path) -> None:
    folder, old, new = trees(lake, tmp_path, {"a": "one"}, {"a": "one", "sub/x": "theirs"})
    outside = tmp_path / "outside"
    outside.mkdir()
    (folder / "sub").symlink_to(outside)
    with pytest.raises(Conflict):
        update_directory(folder, lake, new, list(diff_trees(lake, old, new)), seen=moment_in(folder))
    assert list(outside.iterdir()) == []


def test_a_damaged_lake_changes_nothing(lake: DirectLake, tmp_path: Path) -> None:
    folder, old, new = trees(lake, tmp_path, {"a": "one", "b": "one"}, {"a": "two"})
    changes = list(diff_trees(lake, old, new))
    for key in list(lake.put_keys):
        if "/packs/" in key:
            lake.store.delete(key)
            lake.store.put(key, bytes(100))
    with pytest.raises(Corrupt):
        update_directory(folder, lake, new, changes, seen=moment_in(folder))
    assert sorted(os.listdir(folder)) == [".mill", "a", "b"]


def test_long_paths(lake: DirectLake, tmp_path: Path) -> None:
    deep = "/".join(["d" * 250] * 14)
    folder, old, new = trees(lake, tmp_path, {"a": "one"}, {f"{deep}/a": "two", "e": "two"})
    update_directory(folder, lake, new, list(diff_trees(lake, old, new)), seen=moment_in(folder))
    assert (folder / deep / "a").read_text() == "two"
