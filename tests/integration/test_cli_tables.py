"""Tables of every list fit 80 columns, whatever the names; every list is there as JSON, too."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.cli import Mill, ServerHere, server_here

LONG = "a-name-as-long-as-a-name-can-be-sixty-three-letters-and-digits"
LISTS = (
    ("list",), ("list", "jobs"), ("list", "-A"), ("top", "--once"), ("data", "list"), ("cache", "list"),
    ("cache", "kept"), ("connection", "list"), ("source", "list"), ("secret", "list"), ("volume", "list"),
    ("mount", "list"),
    ("site", "list"), ("link", "list"), ("topology",), ("compute", "list"), ("compute", "tokens"), ("template", "list"),
    ("queue", "list"), ("project", "list"), ("project", "members", LONG), ("user", "list"), ("token", "list"),
    ("activity",), ("audit",), ("server", "list"), ("run", "list"), ("find", "name"),
)  # fmt: skip


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerHere]:
    with server_here(tmp_path_factory.mktemp("tables")) as running:
        yield running


@pytest.fixture
def mill(server: ServerHere, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Mill:
    return Mill(server, capfd, tmp_path)


@pytest.fixture
def filled(mill: Mill, tmp_path: Path) -> Mill:
    if mill("project", "show", LONG).code == 0:
        return mill
    mill.ok("project", "create", LONG, "--description", f"{LONG} {LONG}")
    mill.ok("site", "add", LONG)
    mill.ok("mount", "add", LONG, f"/mnt/{LONG}/{LONG}", "--allow", LONG, "--site", LONG)
    mill.ok("template", "create", LONG, "--image", f"registry.example.com/{LONG}:{LONG}", "--description", LONG)
    mill.ok("queue", "create", f"q{LONG[1:]}", f"{LONG}:10m")
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "x").write_text("x")
    mill.ok("data", "init", LONG, "-p", LONG, cwd=folder)
    mill.ok("data", "sync", cwd=folder)
    mill.ok("submit", LONG, "-p", LONG, "--no-code", "--image", f"registry.example.com/{LONG}", "--", "true")
    return mill


@pytest.mark.parametrize("words", LISTS, ids=" ".join)
def test_a_table_fits_eighty_columns(filled: Mill, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Terminal()
    monkeypatch.setattr("sys.stdout", shown)
    assert filled(*words, COLUMNS="80", NO_COLOR="1", MILL_PROJECT=LONG).code == 0
    assert shown.getvalue() or words[0] in (
        "connection",
        "source",
        "secret",
        "cache",
        "link",
        "run",
        "compute",
        "queue",
        "volume",
    )
    assert [line for line in shown.getvalue().splitlines() if len(line) > 80] == []


@pytest.mark.parametrize("words", LISTS, ids=" ".join)
def test_every_list_is_json_too(filled: Mill, words: tuple[str, ...]) -> None:
    assert filled.ok(*words, "--json", "-p", LONG).json is not None
