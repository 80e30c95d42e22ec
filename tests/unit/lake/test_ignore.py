"""`.millignore` against Git itself: whatever rules and whatever tree, the same files belong."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from millpond.lake.scan import scan
from millpond.model.tree import Kind
from millpond.testing.lake import Thing, without_conflicts, write_things

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs Git")

PARTS = ["a", "b", "ab", "a.b", "A", "x y", "é", "[", "#", "!a", "a ", "*", "\\"]
# What may stand in a line, besides names.
PIECES = [
    *PARTS, "*", "**", "?", "/", "[ab]", "[!a]", "[^a]", "[a-b]", "[]a]", "[a", "[[:alpha:]]", "[!/]", "[\\]a]",
    "[+-9]",
    "\\*", "\\#", "\\!", "\\ ", "*.b", ".",
]  # fmt: skip

lines = st.tuples(
    st.sampled_from(["", "", "!", "/"]),
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=4).map("".join),
    st.sampled_from(["", "", "/", "/*", "/**", " ", "\r"]),
).map("".join)
files = st.lists(lines, max_size=5).map("\n".join)
trees = st.sets(st.lists(st.sampled_from(PARTS), min_size=1, max_size=3).map("/".join), min_size=1, max_size=10)


def belonging(root: Path) -> set[bytes]:
    return {found.path for found in scan(root) if found.kind is not Kind.DIRECTORY}


def not_ignored_by_git(root: Path) -> set[bytes]:
    options = ["-c", "core.excludesFile=", "-c", "core.quotePath=false"]
    command = ["git", *options, "ls-files", "--others", "-z", "--exclude-per-directory=.millignore"]
    environment = {**os.environ, "GIT_CONFIG_NOSYSTEM": "1", "HOME": str(root), "GIT_DIR": str(root.parent / "git")}
    done = subprocess.run(
        command, cwd=root, capture_output=True, check=True, env=environment | {"GIT_WORK_TREE": str(root)}
    )
    return {path for path in done.stdout.split(b"\0") if path}


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ignore")
    subprocess.run(["git", "init", "-q", "--bare", str(folder / "git")], check=True)
    return folder


@given(paths=trees, above=files, below=files)
@example(paths={"a/b", "a/ab", "b"}, above="a/\n!a/b", below="")
@example(paths={"a/b", "a/ab", "b"}, above="a/*\n!a/b", below="")
@example(paths={"a/b", "a/ab", "b"}, above="a/**\n!a/b", below="")
@example(paths={"a/b", "ab/b"}, above="a[!b]", below="")
@example(paths={"a/a", "ab"}, above="a**/*", below="a**/*")
@example(paths={"a/b", "b/a/b"}, above="/a", below="!b")
@example(paths={"a/b/ab", "a/ab"}, above="**/ab\n!/a/ab", below="ab/")
@example(paths={"a"}, above="!", below="")
@example(paths={"a/b"}, above="\\", below="")
def test_the_same_files_belong_as_for_git(work: Path, paths: set[str], above: str, below: str) -> None:
    root = work / "tree"
    shutil.rmtree(root, ignore_errors=True)
    kept = without_conflicts([path.encode() for path in paths])
    write_things(root, [Thing(path, b"") for path in kept])
    root.mkdir(exist_ok=True)
    (root / ".millignore").write_text(above, newline="")
    if (root / "a").is_dir():
        (root / "a" / ".millignore").write_text(below, newline="")
    assert belonging(root) == not_ignored_by_git(root), (above, below)
