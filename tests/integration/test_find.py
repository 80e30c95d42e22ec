"""`mill find` and `millpond.find` against a server: what the page's Ctrl-K finds, too."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import millpond
from tests.integration.cli import Mill, ServerHere, server_here


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerHere]:
    with server_here(tmp_path) as running:
        yield running


def test_by_command_line_and_sdk(
    server: ServerHere, capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mill = Mill(server, capfd, tmp_path)
    root = tmp_path / "xray"
    root.mkdir()
    (root / "a.txt").write_text("a")
    mill.ok("data", "init", cwd=root)
    mill.ok("data", "sync", "-m", "first scans", cwd=root)
    mill.ok("data", "tag", "scans-v1", cwd=root)
    first = mill.ok("find", "XR", "--json").json["items"][0]
    assert (first["noun"], first["project"], first["name"], first["match"]) == ("dataset", "default", "xray", "prefix")
    assert "default/xray@scans-v1" in mill.ok("find", "scans").out
    none = mill.ok("find", "no", "such", "thing")
    assert none.out == "" and "Nothing matches 'no such thing'" in none.err

    monkeypatch.setenv("MILL_HOME", str(server.home))
    found = millpond.find("default/xray", server=server.url)
    assert [(one.noun, one.name) for one in found] == [("dataset", "xray")]
