"""`mill server`, `--server` before and after the verb, and the words about a server that does not answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from millpond.cli.up import current_server_lines
from millpond.client.credentials import load_credentials, save_local_token, save_token
from tests.unit.cli.conftest import Mill
from tests.unit.client.fake_server import FakeServer

LAB = "http://lab.example.org:8420"
DEAD = "http://127.0.0.1:1"


@pytest.fixture
def two(mill: Mill, server: FakeServer, home: Path) -> FakeServer:
    """Signed in to the fake server (`local`), which is current, and to `lab`."""
    server.on("GET", "/projects", lambda r: {"items": [], "next": None})
    save_token(home, LAB, "mill_lab")
    save_token(home, server.url, "mill_token")
    return server


def test_servers_are_listed_by_name(mill: Mill, two: FakeServer) -> None:
    assert json.loads(mill("server", "list", "--json").out) == {
        "items": [
            {"name": "lab", "url": LAB, "current": False},
            {"name": "local", "url": two.url, "current": True},
        ]
    }
    assert mill("server", "list").out == f"lab\t{LAB}\t\nlocal\t{two.url}\tcurrent\n"


def test_use_and_forget(mill: Mill, two: FakeServer, home: Path) -> None:
    mill("server", "use", "lab")
    assert load_credentials(home).current == LAB
    done = mill("server", "forget", "lab")
    assert done.code == 0
    assert "No server is current now" in done.err and "local" in done.err
    assert load_credentials(home).current is None, "no other server takes its place without a word"
    assert mill("server", "use", two.url).code == 0
    assert load_credentials(home).current == two.url


def test_rename(mill: Mill, two: FakeServer, home: Path) -> None:
    assert mill("server", "rename", "local", "laptop").code == 0
    assert load_credentials(home).url_of("laptop") == two.url
    assert mill("server", "rename", "lab", "laptop").code == 5
    assert mill("server", "rename", "lab", "http://x").code == 2


def test_a_name_that_is_not_known_brings_the_nearest(mill: Mill, two: FakeServer) -> None:
    done = mill("server", "use", "loca")
    assert done.code == 3
    assert "Did you mean local?" in done.err
    assert "mill server list" in mill("project", "list", "--server", "nowhere").err


def test_server_before_and_after_the_verb(mill: Mill, two: FakeServer, home: Path) -> None:
    mill("server", "use", "lab")
    for arguments in (
        ("--server", "local", "project", "list"),
        ("project", "list", "--server", "local"),
        ("--server", "lab", "project", "list", "--server", two.url),
    ):
        assert mill(*arguments).code == 0, arguments
    assert mill("--server", "local", "--json", "project", "list").out == '{"items": []}\n'


def test_the_variable_takes_a_name(mill: Mill, two: FakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    mill("server", "use", "lab")
    monkeypatch.setenv("MILL_SERVER", "local")
    assert mill("project", "list").code == 0
    assert "MILL_SERVER=local is set" in mill("server", "list").err


@pytest.mark.parametrize(
    ("variable", "flag", "words"),
    [
        (None, DEAD, "Chosen by --server."),
        (DEAD, None, "Chosen by the variable MILL_SERVER."),
        (None, None, "It is your current server (gone)."),
    ],
)
def test_a_server_that_does_not_answer_is_named_with_what_chose_it(
    mill: Mill,
    two: FakeServer,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    variable: str | None,
    flag: str | None,
    words: str,
) -> None:
    if variable is None and flag is None:
        save_token(home, DEAD, "mill_dead", name="gone")
    if variable:
        monkeypatch.setenv("MILL_SERVER", variable)
    done = mill("project", "list", *(("--server", flag) if flag else ()))
    assert done.code == 6
    assert DEAD in done.err
    assert words in done.err
    assert "mill server use NAME" in done.err and "lab" in done.err


def test_mill_up_becomes_current_only_when_there_is_none(tmp_path: Path) -> None:
    first = save_local_token(tmp_path, "http://127.0.0.1:8420", "mill_1")
    assert first.current == "http://127.0.0.1:8420"
    assert current_server_lines(first, "http://127.0.0.1:8420") == [
        "Commands on this machine use it (current server: local)"
    ]
    second = save_local_token(tmp_path, "http://127.0.0.1:8421", "mill_2")
    assert second.current == "http://127.0.0.1:8420", "the user's own choice stays"
    lines = current_server_lines(second, "http://127.0.0.1:8421")
    assert "local (http://127.0.0.1:8420)" in lines[0]
    assert "mill server use local-2" in lines[1]


def test_a_local_server_on_another_port_stays_the_same_server(tmp_path: Path) -> None:
    save_local_token(tmp_path, "http://127.0.0.1:8420", "mill_1")
    moved = save_local_token(tmp_path, "http://127.0.0.1:8421", "mill_1")
    assert list(moved.servers) == [moved.current] == ["http://127.0.0.1:8421"]
    assert moved.names == ["local"]
