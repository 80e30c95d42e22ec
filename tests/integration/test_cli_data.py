"""`mill data` and `mill cache` against a real server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from millpond.testing.up import MillUp, environment
from millpond.testing.waiting import wait_until
from tests.integration.cli import Mill


@pytest.fixture(scope="module")
def server(shared_up: MillUp) -> MillUp:
    return shared_up


@pytest.fixture
def mill(server: MillUp, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Mill:
    return Mill(server, capfd, tmp_path)


def a_folder(root: Path, files: int = 20) -> Path:
    for number in range(files):
        path = root / f"class-{number % 3}" / f"{number}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"file {number}")
    return root


def content(root: Path) -> dict[str, bytes]:
    found = (path for path in root.rglob("*") if path.is_file() and ".mill" not in path.parts)
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in found}


def test_a_folder_becomes_commits_and_comes_back(mill: Mill, tmp_path: Path) -> None:
    folder = a_folder(tmp_path / "X Ray!")
    mill.ok("data", "init", cwd=folder)
    assert json.loads((folder / ".mill/config.json").read_text())["dataset"] == "x-ray"
    first = mill.ok("data", "sync", "-m", "first", "--json", cwd=folder).json
    assert (first["files"], first["message"], first["parents"]) == (20, "first", [])
    again = mill.ok("data", "sync", cwd=folder)
    assert "No changes" in again.err
    (folder / "class-0/0.txt").write_text("changed")
    (folder / "class-1/1.txt").unlink()
    (folder / "new.bin").write_bytes(os.urandom(3_000_000))
    status = mill.ok("data", "status", "--json", cwd=folder).json
    assert [(c["change"], c["path"]) for c in status["items"]] == [
        ("changed", "class-0/0.txt"),
        ("removed", "class-1/1.txt"),
        ("added", "new.bin"),
    ]
    assert "1 added, 1 removed, 1 changed" in mill.ok("data", "sync", "--dry-run", cwd=folder).err
    second = mill.ok("data", "sync", "-m", "second", "--json", cwd=folder).json
    assert second["parents"] == [first["id"]]
    assert (
        mill.ok("data", "diff", f"x-ray@{first['id']}", "main").out
        == mill.ok("data", "diff", first["id"][:8], "main", cwd=folder).out
    )
    assert mill.ok("data", "commits", "x-ray").out.splitlines()[1].startswith(first["id"])
    assert "new.bin\tfile\t3000000\t1" in mill.ok("data", "ls", cwd=folder).out
    assert mill.ok("data", "cat", "x-ray:class-0/0.txt").out == "changed"
    assert mill.ok("data", "cat", f"@{first['id']}:class-0/0.txt", cwd=folder).out == "file 0"
    mill.ok("data", "clone", "x-ray", "copy")
    assert content(tmp_path / "copy") == content(folder)
    (tmp_path / "copy/more.txt").write_text("from the clone")
    mill.ok("data", "sync", cwd=tmp_path / "copy")
    assert mill("data", "sync", cwd=folder).code == 5, "the branch has moved on"


def test_two_folders_that_both_changed_do_not_overwrite_each_other(mill: Mill, tmp_path: Path) -> None:
    mine = a_folder(tmp_path / "shared")
    mill.ok("data", "init", cwd=mine)
    mill.ok("data", "sync", cwd=mine)
    mill.ok("data", "clone", "shared", "theirs")
    (tmp_path / "theirs/new.txt").write_text("theirs")
    mill.ok("data", "sync", cwd=tmp_path / "theirs")
    (mine / "new.txt").write_text("mine")
    done = mill("data", "sync", cwd=mine)
    assert done.code == 5
    assert "admin committed" in done.err
    assert "--branch" in done.err
    mill.ok("data", "sync", "--branch", "mine", cwd=mine)
    assert mill.ok("data", "cat", "shared@mine:new.txt").out == "mine"
    assert mill.ok("data", "cat", "shared:new.txt").out == "theirs"


def test_what_is_wrong_is_said(mill: Mill, tmp_path: Path) -> None:
    folder = a_folder(tmp_path / "pictures", 2)
    assert mill("data", "sync", cwd=folder).code == 3
    mill.ok("data", "init", cwd=folder)
    assert mill("data", "init", cwd=folder).code == 5
    taken = mill("data", "init", "pictures")
    assert taken.code == 5
    assert "--existing" in taken.err
    near = mill("data", "show", "picture")
    assert near.code == 3
    assert "pictures" in near.err
    assert mill("data", "commits", "pictures@nowhere").code == 3
    assert mill("data", "ls", "pictures").code == 3, "there is no commit yet"
    assert mill("data", "show", "../etc").code == 2
    assert mill("data", "init", "Bad Name").code == 2
    mill.ok("data", "sync", cwd=folder)
    assert mill("data", "cat", "pictures:absent").code == 3
    assert mill("data", "cat", "pictures:../../etc/passwd").code == 2
    assert mill("data", "clone", "pictures", str(folder)).code == 5
    assert mill("data", "delete", "pictures").code == 2
    mill.ok("data", "delete", "pictures", "--yes")
    gone = mill("data", "sync", cwd=folder)
    assert gone.code == 3
    mill.ok("data", "create", "pictures")
    assert mill("data", "sync", cwd=folder).code == 5, "another dataset of the same name"


@pytest.mark.long
def test_sync_is_killed_at_any_moment_and_simply_run_again(mill: Mill, server: MillUp, tmp_path: Path) -> None:
    folder = a_folder(tmp_path / "killed", 300)
    for number in range(8):
        (folder / f"big-{number}").write_bytes(os.urandom(4_000_000))
    mill.ok("data", "init", cwd=folder)
    command = [sys.executable, "-m", "millpond", "data", "sync"]
    packs = server.data_dir / "lake"

    def stored() -> int:
        return sum(path.stat().st_size for path in packs.rglob("*") if path.is_file())

    before = stored()
    sync = subprocess.Popen(command, cwd=folder, env=environment(server.home), stderr=subprocess.DEVNULL)
    wait_until(lambda: stored() > before or sync.poll() is not None, what="the first bytes in the lake")
    sync.send_signal(signal.SIGKILL)
    sync.wait()
    mill.ok("data", "sync", cwd=folder)
    mill.ok("data", "clone", "killed", "back")
    assert content(tmp_path / "back") == content(folder)


def test_caching_waits_shows_and_clears(mill: Mill, tmp_path: Path) -> None:
    folder = a_folder(tmp_path / "cached")
    mill.ok("data", "init", cwd=folder)
    commit = mill.ok("data", "sync", "--json", cwd=folder).json["id"]
    added = mill.ok("cache", "add", "cached", "--json").json
    assert (added["state"], added["commit_id"]) == ("ready", commit)
    assert content(Path(added["path"])) == content(folder)
    again = mill.ok("cache", "add", "cached")
    assert "already" in again.err
    listed = mill.ok("cache", "list", "cached", "--json").json["items"]
    assert [c["id"] for c in listed] == [added["id"]]
    mill.ok("cache", "pin", "cached")
    assert mill.ok("cache", "list", "cached", "--json").json["items"][0]["pinned"] is True
    mill.ok("cache", "unpin", f"cached@{commit[:10]}")
    assert mill("cache", "add", "cached", "--on", "nowhere").code == 3
    assert mill("cache", "clear", "cached").code == 2
    mill.ok("cache", "clear", "cached", "--yes")
    wait_until(lambda: not Path(added["path"]).exists(), what="the eviction")
    wait_until(lambda: mill("cache", "clear", "cached", "--yes").code == 3, what="the record's end")


def test_volumes_are_added_shown_changed_and_removed(mill: Mill, tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    mill.ok("volume", "add", "second", str(tmp_path / "disk"), "--capacity", "1GB", "--idle", "2h")
    assert mill.ok("volume", "show", "second", "--json").json["idle_seconds"] == 7200
    mill.ok("volume", "set", "second", "--high", "80")
    assert mill("volume", "set", "second").code == 2
    assert "second" in mill.ok("volume", "list").out
    mill.ok("volume", "rm", "second", "--yes")
    assert mill("volume", "show", "second").code == 3
    assert mill.ok("site", "list", "--json").json["items"][0]["name"] == "local"


def test_a_volume_that_cannot_be_used_is_not_added(mill: Mill, tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis/draft.tex").touch()
    for name, words in (("nfs0", "does not exist"), ("thesis", "draft.tex")):
        refused = mill("volume", "add", "second", str(tmp_path / name))
        assert (refused.code, words in refused.err) == (5, True), refused.err
        assert mill("volume", "show", "second").code == 3
    assert not (tmp_path / "nfs0").exists()
    mill.ok("volume", "add", "second", str(tmp_path / "nfs0"), "--no-check")
    wait_until(lambda: mill.ok("volume", "show", "second", "--json").json["problem"], what="the agent's look")
    mill.ok("volume", "rm", "second", "--yes")


LISTING = """
import sys
from millpond.cli.main import main
code = main(sys.argv[1:])
print("loaded:", *sys.modules)
sys.exit(code)
"""


def test_syncing_and_cloning_load_little_to_their_end(mill: Mill, server: MillUp, tmp_path: Path) -> None:
    folder = a_folder(tmp_path / "quick-verbs")
    mill.ok("data", "init", "quick-verbs", cwd=folder)
    for words in (("data", "sync"), ("data", "clone", "quick-verbs", str(tmp_path / "copy"))):
        done = subprocess.run(
            [sys.executable, "-c", LISTING, *words],
            env=environment(server.home),
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        )
        assert not {"pydantic", "httpx", "rich"} & set(done.stdout.partition("loaded: ")[2].split())
    assert content(tmp_path / "copy") == content(folder)
