"""Audit entries at a real receiver of syslog: each once and in order, also when the receiver was away or broke off."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from millpond.db import audit as rows
from millpond.errors import BadRequest
from millpond.model.people import SYSTEM
from millpond.services.audits.forwarding import Forwarding, status, target_key
from millpond.services.audits.receivers import Target
from millpond.services.deps import Deps
from millpond.services.people import audit
from millpond.settings import Settings
from millpond.testing.clock import NOON, FakeClock
from millpond.testing.server import making_deps


class TcpReceiver:
    """Takes one connection and reads counted messages from it."""

    def __init__(self, port: int = 0) -> None:
        self._listening = socket.create_server(("127.0.0.1", port))
        self._listening.settimeout(20)
        self.port: int = self._listening.getsockname()[1]
        self._connection: socket.socket | None = None
        self._data = b""

    def messages(self, count: int) -> list[str]:
        """The next `count` messages."""
        found: list[str] = []
        while len(found) < count:
            size, blank, rest = self._data.partition(b" ")
            if blank and len(rest) >= int(size):
                found.append(rest[: int(size)].decode())
                self._data = rest[int(size) :]
            else:
                self._data += self._more()
        return found

    def close(self) -> None:
        """With what was not read yet left unread."""
        if self._connection is not None:
            self._connection.close()
        self._listening.close()

    def _more(self) -> bytes:
        if self._connection is None:
            self._connection, _ = self._listening.accept()
            self._connection.settimeout(20)
        data = self._connection.recv(1 << 16)
        assert data, "the server closed the connection"
        return data


@pytest.fixture
def deps(tmp_path: Path) -> Iterator[Deps]:
    with making_deps(Settings(data_dir=tmp_path), clock=FakeClock()) as made:
        yield made


def add(deps: Deps, *subjects: str) -> None:
    with deps.db.write() as tx:
        for subject in subjects:
            audit.record(tx, now=NOON, actor=SYSTEM, action="test.do", subject=subject)


def subjects(messages: list[str]) -> list[str]:
    return [json.loads(one[one.index("] {") + 2 :])["subject"] for one in messages]


def test_over_tcp_each_comes_once_in_order_and_a_restart_goes_on(deps: Deps) -> None:
    add(deps, "of before")
    with closing(TcpReceiver()) as receiver:
        target = Target.parse(f"tcp://127.0.0.1:{receiver.port}")
        forwarding = Forwarding(deps, target)
        assert forwarding.run_once(NOON) == 1
        assert subjects(receiver.messages(1)) == [str(target)], "a new receiver begins with the entry that says so"
        names = [str(number) for number in range(250)]
        add(deps, *names)
        assert forwarding.run_once(NOON) == 250
        assert subjects(receiver.messages(250)) == names
        assert forwarding.run_once(NOON) == 0
    with closing(TcpReceiver(receiver.port)) as again:
        add(deps, "after a restart")
        assert Forwarding(deps, target).run_once(NOON) == 1
        assert subjects(again.messages(1)) == ["after a restart"]


def test_while_the_receiver_is_away_entries_wait_in_the_database(deps: Deps) -> None:
    with closing(TcpReceiver()) as receiver:
        target = Target.parse(f"tcp://127.0.0.1:{receiver.port}")
        forwarding = Forwarding(deps, target)
        forwarding.run_once(NOON)
        receiver.messages(1)
    add(deps, "one", "two")
    assert forwarding.run_once(NOON) == 0
    with deps.db.read() as tx:
        known = rows.forwarded(tx, target_key(target))
        assert known is not None and rows.count_behind(tx, known.sent_id) == 2
        assert (known.failing_since, known.problem) == (NOON, "Connection refused")
    with closing(TcpReceiver(receiver.port)) as again:
        assert forwarding.run_once(NOON) == 2
        assert subjects(again.messages(2)) == ["one", "two"]
    with deps.db.read() as tx:
        known = rows.forwarded(tx, target_key(target))
        assert known is not None and known.failing_since is None


def test_what_a_broken_receiver_left_unread_is_sent_again(deps: Deps) -> None:
    with closing(TcpReceiver()) as receiver:
        target = Target.parse(f"tcp://127.0.0.1:{receiver.port}")
        forwarding = Forwarding(deps, target)
        forwarding.run_once(NOON)
        receiver.messages(1)
        add(deps, "not read")
        assert forwarding.run_once(NOON) == 1
    with closing(TcpReceiver(receiver.port)) as again:
        add(deps, "next")
        forwarding.run_once(NOON)
        assert subjects(again.messages(2)) == ["not read", "next"]


@pytest.mark.parametrize("kind", ["udp", "unix"])
def test_over_udp_and_a_local_socket_each_is_a_datagram(deps: Deps, tmp_path: Path, kind: str) -> None:
    family, address = (socket.AF_INET, ("127.0.0.1", 0)) if kind == "udp" else (socket.AF_UNIX, str(tmp_path / "log"))
    with closing(socket.socket(family, socket.SOCK_DGRAM)) as receiver:
        receiver.bind(address)
        receiver.settimeout(20)
        named = f"udp://127.0.0.1:{receiver.getsockname()[1]}" if kind == "udp" else f"unix:{address}"
        add_to = Forwarding(deps, Target.parse(named))
        add_to.run_once(NOON)
        add(deps, "one", "two")
        assert add_to.run_once(NOON) == 2
        assert subjects([receiver.recv(65_535).decode() for _ in range(3)]) == [named, "one", "two"]


@pytest.mark.parametrize("url", ["http://x", "tcp://", "udp://host:port", "unix:log", "tcp://host/path", "nonsense"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(BadRequest, match="syslog receiver"):
        Target.parse(url)


def test_without_a_receiver_there_is_no_status(deps: Deps) -> None:
    assert status(deps) is None
