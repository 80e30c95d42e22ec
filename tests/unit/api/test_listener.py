"""The socket the server listens on, and how quickly it stops."""

from __future__ import annotations

import socket
import time
from pathlib import Path

import pytest

from millpond.api.listener import bind
from millpond.testing.server import running_server


def test_answers_do_not_wait_for_acknowledgements() -> None:
    with bind("127.0.0.1", 0) as listening:
        assert listening.proto == socket.IPPROTO_TCP, "asyncio sets TCP_NODELAY on the connections of such sockets only"


def test_port_that_is_taken() -> None:
    with bind("127.0.0.1", 0) as listening, pytest.raises(OSError, match="in use"):
        bind("127.0.0.1", listening.getsockname()[1])


def test_open_streams_do_not_hold_the_server_back(tmp_path: Path) -> None:
    with running_server(tmp_path) as server:
        reading = [server.admin.stream("GET", "/events", params={"topics": "jobs"}) for _ in range(3)]
        for stream in reading:
            next(stream.__enter__().iter_lines())
        began = time.monotonic()
        server.hub.close()
        for stream in reading:
            stream.__exit__(None, None, None)
    assert time.monotonic() - began < 2
