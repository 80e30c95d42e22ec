"""`mill cache`: holding, keeping, limiting, explaining and verifying what lies beside the compute."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from millpond.testing.up import MillUp
from millpond.testing.waiting import wait_until
from tests.integration.cli import Mill


@pytest.fixture(scope="module")
def server(shared_up: MillUp) -> MillUp:
    return shared_up


@pytest.fixture
def mill(server: MillUp, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Mill:
    return Mill(server, capfd, tmp_path)


def a_version(mill: Mill, folder: Path, name: str, text: str) -> str:
    """The id of a new commit of the dataset in which one of two files differs from the one before."""
    if not folder.exists():
        folder.mkdir()
        (folder / "same").write_bytes(bytes(9000))
        mill.ok("data", "init", name, cwd=folder)
    (folder / "changed").write_text(text)
    return str(mill.ok("data", "sync", "--json", cwd=folder).json["id"])


def cached(mill: Mill, name: str) -> dict[str, Any]:
    return {c["commit_id"]: c for c in mill.ok("cache", "list", name, "--json").json["items"]}


def test_the_newest_commit_is_meant_unless_another_is_named(mill: Mill, tmp_path: Path) -> None:
    first = a_version(mill, tmp_path / "x", "scans", "one")
    mill.ok("cache", "add", "scans")
    second = a_version(mill, tmp_path / "x", "scans", "two")
    missed = mill("cache", "hold", "scans")
    assert missed.code == 3 and f"scans@{first[:8]}" in missed.err
    mill.ok("cache", "add", "scans")
    mill.ok("cache", "hold", "scans", "--for", "2h", "--why", "a look at it")
    mill.ok("cache", "set", f"scans@{first}", "--idle", "8h")
    found = cached(mill, "scans")
    assert [bool(found[c]["leased_by"]) for c in (first, second)] == [False, True]
    assert [found[c]["idle_seconds"] for c in (first, second)] == [8 * 3600, 24 * 3600]
    refused = mill("cache", "clear", "scans", "--yes")
    assert refused.code == 5 and "admin" in refused.err
    assert "held by admin" in mill.ok("cache", "why", "scans").out
    (planned,) = mill.ok("cache", "plan", "--json").json["items"]
    goes, stays = ({one["commit_id"] for one in planned[what]} & {first, second} for what in ("goes", "stays"))
    assert (goes, stays) == ({first}, {second})
    nobody = mill("cache", "release", "scans", "--of", "maria")
    assert nobody.code == 3 and "mill cache why scans" in nobody.err
    mill.ok("cache", "release", "scans", "--of", "admin")
    assert not cached(mill, "scans")[second]["leased_by"]
    mill.ok("cache", "release", "scans")
    assert mill("cache", "clear", f"scans@{first}", "--all", "--yes").code == 2
    mill.ok("cache", "clear", "scans", "--all", "--yes")
    wait_until(lambda: not cached(mill, "scans"), what="both evictions")
    assert "cleared" in mill.ok("cache", "why", "scans").out


def test_what_is_damaged_is_healed_in_every_commit_that_shares_it(mill: Mill, tmp_path: Path) -> None:
    commits = []
    for text in ("one", "two"):
        commits.append(a_version(mill, tmp_path / "d", "damaged", text))
        mill.ok("cache", "add", "damaged")
    paths = [Path(cached(mill, "damaged")[commit]["path"]) / "same" for commit in commits]
    assert paths[0].stat().st_ino == paths[1].stat().st_ino
    kept = paths[0].stat()
    paths[0].chmod(0o644)
    paths[0].write_bytes(b"\1" * 9000)
    paths[0].chmod(kept.st_mode)
    os.utime(paths[0], ns=(kept.st_atime_ns, kept.st_mtime_ns))
    assert mill.ok("cache", "verify", "damaged", "--json").json["items"][0]["verification"] is not None
    assert [path.read_bytes() for path in paths] == [bytes(9000)] * 2


def test_a_branch_is_kept_and_a_project_limited(mill: Mill, tmp_path: Path) -> None:
    a_version(mill, tmp_path / "k", "kept", "one")
    mill.ok("cache", "keep", "kept@main", "--on", "local")
    second = a_version(mill, tmp_path / "k", "kept", "two")
    wait_until(lambda: cached(mill, "kept").get(second, {}).get("state") == "ready", what="the new commit's copy")
    assert [k["dataset"] for k in mill.ok("cache", "kept", "--json").json["items"]] == ["kept"]
    mill.ok("cache", "unkeep", "kept")
    assert mill("cache", "unkeep", "kept").code == 3
    mill.ok("volume", "limit", "local", "default", "1")
    wait_until(lambda: not cached(mill, "kept"), what="evictions down to the limit")
    refused = mill("cache", "add", "kept")
    assert refused.code == 5 and "its project may use" in refused.err
    mill.ok("volume", "limit", "local", "default", "none")
    mill.ok("cache", "add", "kept")


def test_what_is_in_use_keeps_nothing_else_from_being_cleared(mill: Mill, tmp_path: Path) -> None:
    commits = []
    for text in ("one", "two", "three", "four"):
        commits.append(a_version(mill, tmp_path / "m", "many", text))
        mill.ok("cache", "add", "many")
    for commit in commits[:2]:
        mill.ok("cache", "hold", f"many@{commit}")
    refused = mill("cache", "clear", "many", "--all", "--yes")
    assert refused.code == 5 and all(f"many@{commit[:8]}" in refused.err for commit in commits)
    assert set(cached(mill, "many")) == set(commits[:2])


def test_one_commit_of_a_dataset_is_listed(mill: Mill, tmp_path: Path) -> None:
    for text in ("one", "two"):
        commit = a_version(mill, tmp_path / "l", "listed", text)
        mill.ok("cache", "add", "listed")
    assert set(cached(mill, "listed@main")) == {commit}
    assert mill("cache", "list", "listed@nope").code == 3


def test_pinning_answers_like_holding(mill: Mill, tmp_path: Path) -> None:
    a_version(mill, tmp_path / "p", "pinned", "one")
    mill.ok("cache", "add", "pinned")
    for verb, pinned in (("pin", True), ("unpin", False)):
        assert [c["pinned"] for c in mill.ok("cache", verb, "pinned", "--json").json["items"]] == [pinned]
