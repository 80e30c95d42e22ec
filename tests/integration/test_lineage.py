"""What made a commit, and what was made from it, through the API, the command line and the SDK."""

from __future__ import annotations

from pathlib import Path

import pytest

import millpond
from millpond.client.dataset import Dataset
from millpond.testing.up import environment

from .cli import Mill, server_here


def test_lineage_is_shown_both_ways(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with server_here(tmp_path) as server:
        mill = Mill(server, capsys, tmp_path)
        mill.ok("data", "init", "xray", cwd=_folder(tmp_path, "xray"))
        for name in ("a.txt", "b.txt"):
            (tmp_path / name).write_text(name)
            mill.ok("data", "put", name, "xray@main:" + name)
        newest, first = (commit["id"] for commit in mill.ok("data", "log", "xray", "--json").json["items"])

        found = mill.ok("data", "lineage", "xray", "--json").json
        assert [step["source"] and step["source"]["id"] for step in found["up"]["steps"]] == [first, None]
        assert found["down"]["steps"] == []

        (step,) = mill.ok("data", "lineage", f"xray@{first}", "--down", "--json").json["down"]["steps"]
        assert (step["made"]["id"], step["made"]["dataset"], step["role"]) == (newest, "xray", "parent")
        assert f"default/xray@{first[:12]}" in mill.ok("data", "lineage", "xray", "--up").out

        for name, value in environment(server.home).items():
            monkeypatch.setenv(name, value)
        with Dataset(f"default/xray@{first}", server=server.url) as dataset:
            (down,) = dataset.lineage("down").steps
            assert down.made is not None and down.made.id == newest


def _folder(root: Path, name: str) -> Path:
    folder = root / name
    folder.mkdir()
    return folder


def test_the_graph_is_shown_as_a_tree_and_as_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with server_here(tmp_path) as server:
        mill = Mill(server, capsys, tmp_path)
        mill.ok("data", "init", "xray", cwd=_folder(tmp_path, "xray"))
        (tmp_path / "a.txt").write_text("a")
        mill.ok("data", "put", "a.txt", "xray@main:a.txt")
        for name, value in environment(server.home).items():
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(tmp_path)
        with Dataset("default/xray", server=server.url) as dataset, millpond.init(name="script") as run:
            assert dataset.read("a.txt") == b"a"
            commit = dataset.commit.id
            run.log_artifact("a.txt")
        assert [node.level for node in run.lineage().nodes] == [0, -1, 1], "its artifacts are gathered"
        assert millpond.lineage("xray@main", direction="down").root == f"commit:{commit}"
        tree = mill.ok("data", "lineage", "xray", "--graph").out
        assert f"input: run default/script ({run.id}" in tree and "made: default/.artifacts@" in tree
        shown = mill.ok("run", "lineage", "script", "--up", "--json").json
        assert [edge["source"] for edge in shown["edges"]] == [f"commit:{commit}"]
