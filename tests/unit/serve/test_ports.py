"""Who has a port that is wanted."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from millpond.decide.endpoints.last_words import last_words
from millpond.serve.ports import port_taken


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def test_the_process_that_listens_is_named(taken: int) -> None:
    said = port_taken(taken) or ""
    assert said.startswith(f"port {taken} is taken by ") and said.endswith(f"(process {os.getpid()})")


def test_a_free_port_is_nobodys(taken: int, tmp_path: Path) -> None:
    assert port_taken(1) is None
    assert port_taken(taken, tmp_path) is None, "where there is no /proc, nothing is claimed"


def test_a_process_that_may_not_be_looked_at(taken: int, tmp_path: Path) -> None:
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / "tcp").write_text(Path("/proc/net/tcp").read_text())
    assert port_taken(taken, tmp_path) == f"port {taken} is taken by a process of another account"


def test_servers_say_which_port_and_who(taken: int, tmp_path: Path) -> None:
    (tmp_path / "router.json").write_text('{"schema": "millpond.router/1", "project": "p", "site": "s", "revision": 1}')
    router = ["-m", "millpond.serve.router", "--config", tmp_path / "router.json", "--state-dir", tmp_path / "state"]
    server = ["-m", "millpond.serve", "--explicit", "--repository", tmp_path, "--http-port", "0"]
    for command in ([*router, "--http-port", str(taken)], [*server, "--grpc-port", str(taken)]):
        ended = subprocess.run([sys.executable, *command, "--host", "127.0.0.1"], capture_output=True, text=True)
        assert ended.returncode == 1
        said = last_words(ended.stderr) or ""
        assert f"port {taken} is taken by" in said and said.endswith(f"(process {os.getpid()})")
