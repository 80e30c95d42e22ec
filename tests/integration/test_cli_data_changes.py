"""`mill data` branch, tag, log, put, rm, merge and revert against a real server."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator
from pathlib import Path
from subprocess import Popen

import pytest

from tests.integration.cli import Mill, ServerHere, server_here


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerHere]:
    with server_here(tmp_path_factory.mktemp("cli-changes")) as running:
        yield running


@pytest.fixture
def mill(server: ServerHere, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Mill:
    return Mill(server, capfd, tmp_path)


@pytest.fixture
def folder(mill: Mill, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A working copy of a dataset named like the test, with one commit."""
    name = request.node.originalname.replace("_", "-")[:40]
    root = tmp_path / name
    (root / "d").mkdir(parents=True)
    (root / "a.txt").write_text("a")
    (root / "d/b.txt").write_text("b")
    mill.ok("data", "init", cwd=root)
    mill.ok("data", "sync", "-m", "first", cwd=root)
    return root


def listed(mill: Mill, where: str) -> set[str]:
    return {line.split("\t")[0] for line in mill.ok("data", "ls", where).out.splitlines()}


def test_branches_and_tags(mill: Mill, folder: Path) -> None:
    mill.ok("data", "branch", "feature/x", cwd=folder)
    mill.ok("data", "tag", f"{folder.name}@v1", "--at", "main")
    assert [line.split("\t")[0] for line in mill.ok("data", "branch", cwd=folder).out.splitlines()] == [
        "feature/x",
        "main",
    ]
    assert mill.ok("data", "tag", cwd=folder).out.startswith("v1\t")
    log = json.loads(mill.ok("data", "log", "--json", cwd=folder).out)["items"]
    assert [(commit["message"], commit["refs"]) for commit in log] == [("first", ["feature/x", "main", "v1"])]
    assert mill("data", "tag", "v1", "--at", "feature/x", cwd=folder).code == 0, "the same commit again"
    assert f"Tag {folder.name}@v2 is at" in mill.ok("data", "tag", f"{folder.name}@v1", "v2").err
    mill.ok("data", "tag", "feature/x", "v3", cwd=folder)
    mill.ok("data", "branch", folder.name, "other")
    assert mill("data", "tag", "v1", "v4", "--at", "main", cwd=folder).code == 2
    assert f"List them: mill data refs default/{folder.name}" in mill("data", "ls", f"{folder.name}@zz").err
    mill.ok("data", "branch", "feature/x", "--delete", cwd=folder)
    assert mill("data", "branch", "feature/x", "-d", cwd=folder).code == 3
    assert mill("data", "branch", "main", "-d", cwd=folder).code == 2
    assert "is not linked" in mill("data", "branch", "lonely").err


def test_files_are_put_and_removed_without_a_working_copy(mill: Mill, folder: Path, tmp_path: Path) -> None:
    name = folder.name
    (tmp_path / "one.bin").write_bytes(os.urandom(2_500_000))
    (tmp_path / "two.sh").write_text("#!/bin/sh\n")
    (tmp_path / "two.sh").chmod(0o755)
    (tmp_path / "empty").touch()
    done = mill.ok("data", "put", "one.bin", "two.sh", "empty", f"{name}:d/", "-m", "three", "--json").json
    assert (done["message"], done["files"]) == ("three", 5)
    assert listed(mill, f"{name}:d") == {"b.txt", "empty", "one.bin", "two.sh"}
    mill.ok("data", "clone", name, "copy")
    assert (tmp_path / "copy/d/one.bin").read_bytes() == (tmp_path / "one.bin").read_bytes()
    assert os.access(tmp_path / "copy/d/two.sh", os.X_OK)
    mill.ok("data", "put", "two.sh", f"{name}:d/b.txt")
    assert mill.ok("data", "cat", f"{name}:d/b.txt").out == "#!/bin/sh\n"
    mill.ok("data", "put", "empty", f"{name}:d")
    assert mill("data", "rm", f"{name}:d").code == 2, "a directory needs -r"
    mill.ok("data", "rm", f"{name}:d", f"{name}@main:a.txt", "-r")
    assert listed(mill, name) == set()
    assert mill("data", "rm", f"{name}:nothing").code == 3
    assert mill("data", "put", "copy", f"{name}:x").code == 2
    assert mill("data", "put", "nowhere.txt", f"{name}:x").code == 3
    assert mill("data", "put", "empty", name).code == 2


def test_what_comes_through_pipes_is_put(
    mill: Mill, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, pipe = folder.name, tmp_path / "pipe"
    os.mkfifo(pipe)
    with Popen(["sh", "-c", f"echo through a pipe > {pipe}"]):
        mill.ok("data", "put", "pipe", f"{name}:")
    assert mill.ok("data", "cat", f"{name}:pipe").out == "through a pipe\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"hello\n")))
    mill.ok("data", "put", "-", f"{name}:d/said")
    assert mill.ok("data", "cat", f"{name}:d/said").out == "hello\n"
    assert "needs a name" in mill("data", "put", "-", f"{name}:d").err
    assert "neither a file nor a pipe" in mill("data", "put", "/dev/zero", f"{name}:zero").err


def test_merging_and_undoing(mill: Mill, folder: Path, tmp_path: Path) -> None:
    name = folder.name
    mill.ok("data", "branch", "side", cwd=folder)
    (tmp_path / "new.txt").write_text("side")
    mill.ok("data", "put", "new.txt", f"{name}@side:a.txt")
    mill.ok("data", "put", "new.txt", f"{name}@side:n.txt")
    (folder / "d/b.txt").write_text("changed")
    (folder / "d/b.txt").rename(folder / "d/c.txt")
    mill.ok("data", "sync", "-m", "second", cwd=folder)
    merged = mill.ok("data", "merge", "side", "--json", cwd=folder).json
    assert (merged["message"], len(merged["parents"])) == ("Merge side into main", 2)
    assert (listed(mill, name), listed(mill, f"{name}:d")) == ({"a.txt", "n.txt", "d/"}, {"c.txt"})
    mill.ok("data", "revert", f"{name}@main")
    assert listed(mill, name) == {"a.txt", "d/"}
    (tmp_path / "new.txt").write_text("main")
    mill.ok("data", "put", "new.txt", f"{name}:a.txt")
    (tmp_path / "new.txt").write_text("side again")
    mill.ok("data", "put", "new.txt", f"{name}@side:a.txt")
    refused = mill("data", "merge", f"{name}@side", "--into", "main")
    assert refused.code == 5
    assert "conflict: 'a.txt': side changed it, main changed it" in refused.err
    assert mill.ok("data", "cat", f"{name}:a.txt").out == "main"


def test_a_renamed_file_is_one_line_of_a_diff(mill: Mill, folder: Path) -> None:
    (folder / "a.txt").rename(folder / "z.txt")
    status = mill.ok("data", "status", cwd=folder)
    assert status.out == ">\tz.txt\ta.txt\n"
    assert "0 added, 0 removed, 0 changed, 1 renamed" in status.err
    before = mill.ok("data", "log", "--json", cwd=folder).json["items"][0]["id"]
    mill.ok("data", "sync", cwd=folder)
    assert mill.ok("data", "diff", f"{folder.name}@{before}", "main").out == ">\tz.txt\ta.txt\n"


def test_a_dataset_is_renamed_and_its_folders_find_it(mill: Mill, folder: Path) -> None:
    new = f"{folder.name}-2"
    shown = json.loads(mill.ok("data", "set", folder.name, "--name", new, "-d", "renamed", "--json").out)
    assert (shown["name"], shown["description"], shown["commits"]) == (new, "renamed", 1)
    assert mill("data", "show", folder.name).code == 3
    (folder / "a.txt").write_text("changed")
    assert f"is now named {new}" in mill.ok("data", "sync", cwd=folder).err
    assert "is now named" not in mill.ok("data", "status", cwd=folder).err, "it is said once"
    assert mill("data", "set", new).code == 2, "nothing to change"
    mill.ok("data", "create", folder.name)
    assert mill("data", "set", new, "--name", folder.name).code == 5, "the name is taken"


def test_what_a_commit_cannot_hold_is_named_and_a_folder_of_nothing_else_is_refused(
    mill: Mill, folder: Path, tmp_path: Path
) -> None:
    for number in range(5):
        (folder / f"d{number}").mkdir()
        os.mkfifo(folder / f"d{number}/pipe")
    said = mill.ok("data", "status", cwd=folder).err
    assert "Skipped 5 paths that a commit cannot hold: d0/pipe (socket, device or FIFO), d1/pipe" in said
    synced = mill.ok("data", "sync", "--json", cwd=folder)
    assert "and 2 more" in synced.err
    assert [skipped["path"] for skipped in synced.json["skipped"]] == [f"d{number}/pipe" for number in range(5)]
    empty = tmp_path / "only-a-pipe"
    empty.mkdir()
    mill.ok("data", "init", cwd=empty)
    os.mkfifo(empty / "pipe")
    refused = mill("data", "sync", cwd=empty)
    assert refused.code != 0
    assert "skipped pipe (socket, device or FIFO)" in refused.err


def test_merge_and_revert_bring_the_folder_along(mill: Mill, folder: Path) -> None:
    mill.ok("data", "branch", "side", cwd=folder)
    new = folder.parent / "new.txt"
    new.write_text("from the side")
    mill.ok("data", "put", str(new), f"{folder.name}@side:new.txt")
    (folder / "mine.txt").write_text("not committed")
    merged = mill.ok("data", "merge", "side", cwd=folder)
    assert "Updated this folder: 1 path changed" in merged.err
    assert (folder / "new.txt").read_text() == "from the side"
    assert (folder / "mine.txt").read_text() == "not committed"
    status = mill.ok("data", "status", "--json", cwd=folder).json
    assert [change["path"] for change in status["items"]] == ["mine.txt"], "changes that nobody made are not shown"
    (folder / "mine.txt").unlink()
    mill.ok("data", "revert", "side", cwd=folder)
    assert not (folder / "new.txt").exists()
    assert mill.ok("data", "status", "--json", cwd=folder).json["items"] == []


def test_a_folder_with_other_changes_stays_and_says_what_to_type(mill: Mill, folder: Path) -> None:
    mill.ok("data", "branch", "side", cwd=folder)
    new = folder.parent / "a.txt"
    new.write_text("from the side")
    mill.ok("data", "put", str(new), f"{folder.name}@side:a.txt")
    (folder / "a.txt").write_text("mine")
    said = mill.ok("data", "merge", f"{folder.name}@side", cwd=folder).err
    assert "This folder was not updated" in said
    assert "mill data checkout main --force" in said
    assert (folder / "a.txt").read_text() == "mine"


def test_commits_before_a_ref_are_named_as_in_git(mill: Mill, folder: Path) -> None:
    (folder / "a.txt").write_text("second")
    mill.ok("data", "sync", cwd=folder)
    assert mill.ok("data", "cat", f"{folder.name}@main~1:a.txt").out == "a"
    assert mill.ok("data", "cat", "@main^:a.txt", cwd=folder).out == "a"
    assert mill.ok("data", "diff", "main~1", "main", "--json", cwd=folder).json["changed"] == 1
    refused = mill("data", "ls", f"{folder.name}@main~7")
    assert refused.code == 3
    assert "goes back to main~1" in refused.err
