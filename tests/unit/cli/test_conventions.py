"""What holds for every command: exit codes, streams, JSON, help, speed, platforms."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.text import Text

from millpond.cli.main import ENTRIES
from tests.unit.cli.conftest import Mill
from tests.unit.client.fake_server import FakeServer, problem

PROJECT = {
    "id": "p1", "name": "vision", "description": "", "created_at": "2026-11-15T20:00:00Z", "role": "admin",
    "quota": 4, "weight": 4, "limit": None, "share": 3, "allocated": 2, "pending_gpus": 1, "pending_jobs": 1,
}  # fmt: skip


@pytest.mark.parametrize(
    ("status", "code", "exit_code"),
    [
        (400, "bad_request", 2),
        (401, "not_signed_in", 4),
        (401, "token_expired", 4),
        (403, "forbidden", 4),
        (404, "not_found", 3),
        (409, "name_taken", 5),
        (409, "in_use", 5),
        (413, "too_large", 2),
        (500, "corrupt", 1),
        (503, "unavailable", 6),
    ],
)
def test_every_error_has_its_exit_code(mill: Mill, server: FakeServer, status: int, code: str, exit_code: int) -> None:
    server.on("GET", "/projects/.*", lambda r: problem(status, code, "It is so.", hint="Do this."))
    done = mill("project", "show", "x")
    assert done.code == exit_code
    assert done.out == ""
    assert done.err == "error: It is so.\n  hint: Do this.\n"


def test_errors_as_json_go_to_stderr(mill: Mill, server: FakeServer) -> None:
    server.on("GET", "/projects/.*", lambda r: problem(404, "not_found", "None.", details={"near": ["vision"]}))
    done = mill("project", "show", "visoin", "--json")
    assert done.out == ""
    assert json.loads(done.err) == {
        "error": {
            "code": "not_found",
            "message": "None.",
            "hint": None,
            "request_id": "req-1",
            "details": {"near": ["vision"]},
        }
    }


def test_server_down_is_6_with_a_hint(mill: Mill, server: FakeServer) -> None:
    server.stop()
    done = mill("project", "list")
    assert done.code == 6
    assert "mill up" in done.err


@pytest.mark.parametrize(
    "arguments", [("projct", "list"), ("project", "lst"), ("project", "list", "--bogus"), ("get",)]
)
def test_wrong_usage_is_2_and_says_where_to_look(mill: Mill, arguments: tuple[str, ...]) -> None:
    done = mill(*arguments)
    assert done.code == 2
    assert done.err.startswith("error: ")
    assert "--help" in done.err


def test_wrong_usage_as_json(mill: Mill) -> None:
    assert json.loads(mill("project", "list", "--bogus", "--json").err)["error"]["code"] == "bad_request"


def test_lists_are_tab_separated_when_piped_and_complete_as_json(mill: Mill, server: FakeServer) -> None:
    server.on("GET", "/projects", lambda r: {"items": [PROJECT], "next": None})
    assert mill("project", "list").out == "vision\tadmin\t4\t4\t\t3\t2\t1\t1\t2026-11-15T20:00:00+00:00\t\n"
    (listed,) = json.loads(mill("project", "list", "--json").out)["items"]
    assert listed == {**listed, **PROJECT, "created_at": "2026-11-15T20:00:00+00:00"}


def test_an_empty_list_says_what_to_do_on_stderr(mill: Mill, server: FakeServer) -> None:
    server.on("GET", "/datasets", lambda r: {"items": [], "next": None})
    done = mill("data", "list")
    assert (done.code, done.out) == (0, "")
    assert "mill data init" in done.err
    assert mill("data", "list", "-q").err == ""
    assert json.loads(mill("data", "list", "--json").out) == {"items": []}


def test_destructive_commands_ask_or_need_yes(mill: Mill, server: FakeServer) -> None:
    server.on("DELETE", "/projects/vision", lambda r: problem(409, "in_use", "It has datasets."))
    done = mill("project", "delete", "vision")
    assert done.code == 2
    assert "--yes" in done.err
    assert server.calls("DELETE", ".*") == []
    assert mill("project", "delete", "vision", "--yes").code == 5


def test_names_from_others_cannot_move_the_cursor(mill: Mill, server: FakeServer) -> None:
    server.on("GET", "/projects/.*", lambda r: problem(404, "not_found", "No \x1b[2J\u202e."))
    assert "\x1b" not in mill("project", "show", "x").err


def test_debug_shows_where_it_came_from(mill: Mill, server: FakeServer) -> None:
    server.on("GET", "/projects/.*", lambda r: problem(404, "not_found", "None."))
    assert "Traceback" not in mill("project", "show", "x").err
    assert "Traceback" in mill("project", "show", "x", "--debug").err


def test_help_lines_of_the_table_are_those_of_the_commands() -> None:
    for entry in ENTRIES:
        if entry.verb and entry.is_present:
            first = (entry.load().help or "").splitlines()[0]
            assert first.startswith(entry.help.rstrip(".")), entry.name


def test_no_word_of_help_is_taken_for_markup() -> None:
    """`[/SUB]` in a help text would end the command with an error, `[bold]` would not be there."""
    for text in (text for entry in ENTRIES if entry.is_present for text in _help_texts(entry.load())):
        assert Text.from_markup(text).plain == text


def test_help_is_quick() -> None:
    """In seconds of processor time: other work on the machine is not our doing."""
    best = min(_seconds("--help") for _ in range(3))
    assert best < 0.4, f"mill --help takes {best:.2f} s"


BLOCKED = """
import sys
for name in ("fcntl", "pwd", "grp", "resource", "termios", "pty", "tty"):
    sys.modules[name] = None
import millpond, millpond.client.tracking, millpond.client.sync, millpond.client.clone, millpond.client.code
import millpond.client.dataset
import importlib
from millpond.cli.main import ENTRIES, main
for entry in ENTRIES:
    if entry.name not in ("up", "agent", "lake"):
        entry.load()
assert millpond.init
raise SystemExit(main(["--help"]))
"""


def test_client_cli_and_sdk_need_no_posix_only_module(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", BLOCKED], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Usage: mill" in done.stdout


def test_completion_knows_the_commands(home: Path) -> None:
    environment = {"_MILL_COMPLETE": "complete_bash", "COMP_WORDS": "mill pro", "COMP_CWORD": "1", "PATH": ""}
    script = [sys.executable, "-c", "from millpond.cli.main import main; main()"]
    done = subprocess.run(script, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["project"]


def _help_texts(command: Any) -> list[str]:
    own = [command.help, *(getattr(parameter, "help", None) for parameter in command.params)]
    below = getattr(command, "commands", {}).values()
    return [text for text in own if text] + [text for one in below for text in _help_texts(one)]


def _seconds(*arguments: str) -> float:
    before = os.times()
    subprocess.run([sys.executable, "-m", "millpond", *arguments], capture_output=True, check=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system
