"""`mill lake` and the bin of `mill data` against a real server: collect, stats, and starting over from the lake."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from millpond.testing.up import mill_up
from tests.integration.cli import Mill, ServerHere, server_here


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerHere]:
    with server_here(tmp_path_factory.mktemp("cli-lake")) as running:
        yield running


@pytest.fixture
def mill(server: ServerHere, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Mill:
    return Mill(server, capfd, tmp_path)


def a_dataset(mill: Mill, name: str, files: int = 5) -> Path:
    root = mill.cwd / name
    root.mkdir()
    for number in range(files):
        (root / f"{number}.txt").write_text(f"{name} {number}\n" * 50)
    mill.ok("data", "init", cwd=root)
    mill.ok("data", "sync", "-m", "first", cwd=root)
    return root


def test_the_bin(mill: Mill) -> None:
    a_dataset(mill, "binned")
    mill.ok("data", "delete", "binned", "--yes")
    assert "default/binned" not in mill.ok("data", "list").out
    assert "default/binned" in mill.ok("data", "list", "--deleted").out
    assert "restored" in mill.ok("data", "undelete", "binned").err
    assert mill.ok("data", "cat", "binned:1.txt").out.startswith("binned 1")
    assert mill("data", "undelete", "binned").code == 3
    mill.ok("data", "delete", "binned", "--yes")
    assert mill("data", "purge", "binned").code == 2
    mill.ok("data", "purge", "binned", "--yes")
    assert mill("data", "undelete", "binned").code == 3


def test_retention(mill: Mill) -> None:
    root = a_dataset(mill, "kept")
    for number in range(3):
        (root / "0.txt").write_text(f"version {number}")
        mill.ok("data", "sync", cwd=root)
    assert "everything" in mill.ok("data", "retention", "kept").out
    shown = mill.ok("data", "retention", "kept", "--keep-last", "2", "--json").json
    assert shown["retention"]["keep_last"] == 2
    assert mill("data", "retention", "kept", "--off", "--keep-days", "3").code == 2
    planned = mill.ok("lake", "collect", "--dry-run", "--now", "--json").json["projects"][0]
    assert [item["dataset"] for item in planned["going_commits"]] == ["default/kept"] * 2
    assert "the rule keeps the newest 2" in mill.ok("lake", "collect", "--dry-run", "--now").out
    mill.ok("lake", "collect", "--now")
    assert len(mill.ok("data", "commits", "kept").out.splitlines()) == 2
    mill.ok("data", "retention", "kept", "--off")
    assert "2 commits" not in mill.ok("data", "retention", "kept").out


def test_stats(mill: Mill) -> None:
    a_dataset(mill, "counted", 20)
    total = mill.ok("lake", "stats", "--json").json["total"]
    assert total["logical_bytes"] > total["stored_bytes"] > 0
    assert "(all)" in mill.ok("lake", "stats").out


@pytest.mark.long
def test_everything_back_into_an_empty_data_directory(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    lake = (tmp_path / "lake").as_uri()
    with mill_up(tmp_path / "lost", "--no-agent", "--lake", lake) as server:
        mill = Mill(server, capfd, tmp_path)
        root = a_dataset(mill, "precious")
        (root / "0.txt").write_text("changed")
        mill.ok("data", "sync", cwd=root)
        mill.ok("data", "tag", "precious@v1")
        # As long as the database is in use nobody reads the lake into it again.
        assert mill("lake", "reindex", "--data-dir", str(tmp_path / "lost"), "--lake", lake, "--yes").code != 0
    found = mill.ok("lake", "reindex", "--data-dir", str(tmp_path / "new"), "--lake", lake, "--yes", "--json").json
    assert (found["datasets"], found["commits"], found["problems"]) == (1, 2, [])
    assert mill("lake", "reindex", "--data-dir", str(tmp_path / "new"), "--lake", lake, "--yes").code == 1
    with mill_up(tmp_path / "new", "--no-agent", "--lake", lake) as server:
        mill = Mill(server, capfd, tmp_path)
        mill.ok("data", "clone", "precious@v1", "back")
        assert (tmp_path / "back/0.txt").read_text() == "changed"
        assert [line.split("\t")[-1] for line in mill.ok("data", "commits", "precious").out.splitlines()] == [
            "",
            "first",
        ]
        mill.ok("lake", "collect", "--now")
        mill.ok("data", "clone", "precious", "again")
