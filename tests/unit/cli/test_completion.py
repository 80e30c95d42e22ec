"""Names are completed from the server, quickly, and silently when it does not answer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from millpond.cli.completion import noun_of
from millpond.client.credentials import save_token
from tests.unit.cli.test_help import COMMANDS
from tests.unit.client.fake_server import FakeServer

PROGRAM = [sys.executable, "-c", "from millpond.cli.main import main; main()"]


def completed(home: Path, words: str) -> list[str]:
    environment = {
        "_MILL_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
        "MILL_HOME": str(home),
        "PATH": os.environ["PATH"],
    }
    done = subprocess.run(PROGRAM, env=environment, capture_output=True, text=True, check=False, timeout=60)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.fixture
def signed_in(server: FakeServer, home: Path) -> Path:
    def page(*names: str) -> dict[str, object]:
        return {"items": [{"name": name, "id": name} for name in names], "next": None}

    save_token(home, server.url, "mill_token")
    server.on("GET", "/datasets", lambda r: page("x-ray", "x-rated", "mri"))
    server.on("GET", "/projects/default/datasets/x-ray/refs", lambda r: page("main", "v1"))
    server.on("GET", "/jobs", lambda r: page("train", "train", "test"))
    server.on("GET", "/volumes", lambda r: page("nfs", "fast"))
    server.on("GET", "/computes", lambda r: page("gpu1"))
    server.on("GET", "/projects", lambda r: page("default", "vision"))
    server.on("GET", "/runs", lambda r: page("3fa2c1", "3fb000"))
    server.on("GET", "/projects/default/flows", lambda r: page("words", "waves"))
    runs = {"items": [{"written": "words#2"}, {"written": "words#1"}], "next": None}
    server.on("GET", "/projects/default/flow-runs", lambda r: runs)
    return home


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("mill data show x-", ["x-ray", "x-rated"]),
        ("mill data ls x-ray@", ["x-ray@main", "x-ray@v1"]),
        ("mill logs t", ["train", "test"]),
        ("mill cache plan --on n", ["nfs"]),
        ("mill volume show ", ["nfs", "fast"]),
        ("mill compute drain g", ["gpu1"]),
        ("mill flow run w", ["words", "waves"]),
        ("mill flow export pyproject.to", []),
        ("mill flow logs words", ["words#2", "words#1"]),
        ("mill project show v", ["vision"]),
        ("mill data list --project v", ["vision"]),
        ("mill run show 3fa", ["3fa2c1"]),
        ("mill server use l", ["local"]),
    ],
)
def test_names_are_completed(signed_in: Path, words: str, offered: list[str]) -> None:
    assert completed(signed_in, words) == offered


def test_nothing_is_said_without_a_server(home: Path) -> None:
    save_token(home, "http://127.0.0.1:1", "mill_token")
    assert completed(home, "mill data show x") == []


def test_parameters_that_name_a_noun_complete_it() -> None:
    found = {
        f"{name} {parameter.name}"
        for name, command in COMMANDS.items()
        for parameter in command.params
        if getattr(parameter, "_custom_shell_complete", None) is not None
    }
    for expected in ("mill data show dataset", "mill logs job", "mill cache add dataset", "mill volume show name"):
        assert expected in found, sorted(found)
    assert noun_of is not None and json is not None
