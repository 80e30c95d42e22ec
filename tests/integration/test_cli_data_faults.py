"""`mill data` where the lake is damaged or a folder is half way: the truth is told, and a refusal makes nothing."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from millpond.client.working_copy import require_working_copy
from tests.integration.cli import Mill, ServerHere, server_here
from tests.integration.test_cli_data import a_folder

BIG = random.Random(11).randbytes(9_000_000)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerHere]:
    with server_here(tmp_path_factory.mktemp("cli-faults")) as running:
        yield running


@pytest.fixture
def mill(server: ServerHere, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Mill:
    return Mill(server, capfd, tmp_path)


def objects(server: ServerHere, kind: str) -> set[Path]:
    return {path for path in (server.data_dir / "lake").rglob(f"{kind}/*/*") if path.is_file()}


@pytest.mark.parametrize("kind", ["packs", "locators"])
@pytest.mark.parametrize("harm", ["gone", "short", "a wrong bit"])
def test_a_file_that_the_lake_has_damaged_is_named(
    mill: Mill, server: ServerHere, tmp_path: Path, kind: str, harm: str
) -> None:
    """It is there and was asked for rightly, so neither 'not found' nor 'wrong usage' would be true."""
    name = f"{kind}-{harm.replace(' ', '-')}"
    folder = tmp_path / name
    folder.mkdir()
    (folder / "file").write_bytes(random.Random(name).randbytes(3000))
    before = objects(server, kind)
    mill.ok("data", "init", cwd=folder)
    mill.ok("data", "sync", cwd=folder)
    (victim,) = objects(server, kind) - before
    whole = victim.read_bytes()
    victim.unlink()
    if harm != "gone":
        bits = bytes(byte ^ (n == 30) for n, byte in enumerate(whole))
        victim.write_bytes(whole[: len(whole) // 3] if harm == "short" else bits)
    for arguments in (("cat", f"{name}:file"), ("cat", f"{name}:file", "--range", "5-9")):
        done = mill("data", *arguments, "--json")
        error = json.loads(done.err)["error"]
        assert (done.code, error["code"], done.out) == (1, "corrupt", ""), done.err
        assert "Cannot read 'file'" in error["message"]
        assert "mill data verify" in error["hint"]


def test_a_file_whose_middle_is_damaged_says_so_and_not_that_the_server_is_away(
    mill: Mill, server: ServerHere, tmp_path: Path
) -> None:
    folder = tmp_path / "middle"
    folder.mkdir()
    (folder / "big").write_bytes(BIG)
    before = objects(server, "packs")
    mill.ok("data", "init", cwd=folder)
    mill.ok("data", "sync", cwd=folder)
    packs = objects(server, "packs") - before
    (pack,) = (path for path in packs if BIG[6_000_000:6_000_100] in path.read_bytes())
    whole = pack.read_bytes()
    at = whole.index(BIG[6_000_000:6_000_100])
    pack.chmod(0o644)
    pack.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    done = mill("data", "cat", "middle:big", "--json")
    error = json.loads(done.err)["error"]
    assert (done.code, error["code"]) == (1, "corrupt"), done.err
    assert "Cannot read 'big'" in error["message"]
    first = mill("data", "cat", "middle:big", "--range", "0-9")
    assert first.code == 0, "what is whole can be read"


def test_a_new_branch_is_not_made_by_a_folder_that_is_half_way(mill: Mill, tmp_path: Path) -> None:
    folder = a_folder(tmp_path / "half")
    mill.ok("data", "init", cwd=folder)
    first = mill.ok("data", "sync", "--json", cwd=folder).json["id"]
    (folder / "more").write_text("more")
    second = mill.ok("data", "sync", "--json", cwd=folder).json["id"]
    require_working_copy(folder).moving(first)
    refused = mill("data", "sync", "--branch", "new", cwd=folder)
    assert refused.code == 5
    assert f"mill data checkout {first[:12]}" in refused.err
    names = [item["name"] for item in mill.ok("data", "refs", "--json", cwd=folder).json["items"]]
    assert names == ["main"], "a refusal makes nothing"
    done = mill.ok("data", "sync", "--branch", "new", "--rebase", "--json", cwd=folder)
    refs = {item["name"]: item["commit_id"] for item in mill.ok("data", "refs", "--json", cwd=folder).json["items"]}
    assert refs == {"main": second, "new": done.json["id"]}, "the branch begins where the folder was going"
    assert done.json["id"] == first
    assert not (folder / "more").exists()


def test_a_folder_whose_commit_a_rule_let_go_is_no_dead_end(mill: Mill, tmp_path: Path) -> None:
    folder = a_folder(tmp_path / "ruled")
    mill.ok("data", "init", cwd=folder)
    mill.ok("data", "sync", cwd=folder)
    for name in ("late", "later", "part"):
        mill.ok("data", "clone", "ruled", name, *(("--only", "class-0/**") if name == "part" else ()))
    (folder / "class-0/0.txt").write_text("newer")
    mill.ok("data", "sync", cwd=folder)
    mill.ok("data", "retention", "ruled", "--keep-last", "1")
    mill.ok("lake", "collect", "--now")
    late = tmp_path / "late"
    (late / "mine").write_text("mine")
    for command in (("sync", "--rebase"), ("checkout", "main")):
        refused = mill("data", *command, cwd=late)
        assert refused.code == 5, refused.err
        assert "removed by the retention rule" in refused.err and "mill data checkout main --force" in refused.err
    mill.ok("data", "sync", "--branch", "kept", cwd=late)
    mill.ok("data", "clone", "ruled@kept", "kept")
    assert (tmp_path / "kept/mine").read_text() == "mine"
    mill.ok("data", "checkout", "main", "--force", cwd=tmp_path / "later")
    assert (tmp_path / "later/class-0/0.txt").read_text() == "newer"
    assert mill("data", "sync", "--branch", "half", cwd=tmp_path / "part").code == 5
    assert mill("data", "show", "ruled", "--json").json["head"]
    names = {item["name"] for item in mill.ok("data", "refs", "ruled", "--json").json["items"]}
    assert names == {"main", "kept"}, "a part is not taken for the whole"
    mill.ok("data", "checkout", "main", "--force", cwd=tmp_path / "part")
    assert (tmp_path / "part/class-0/0.txt").read_text() == "newer"
