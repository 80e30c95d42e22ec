"""Small requests: one piece each, over a connection that is kept, to nothing but what may be reached."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field

import pytest

from millpond.blobs.guarded_http import GuardedHttp
from millpond.decide.allowed_addresses import Reach
from millpond.errors import AddressRefused, StoreUnavailable
from millpond.retry import RetryPolicy

HERE = Reach.parse("127.0.0.1")
OK = b'HTTP/1.1 200 OK\r\nETag: "e"\r\nContent-Length: 2\r\n\r\nhi'
LAST = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi"
LONG = b"HTTP/1.1 400 No\r\nContent-Length: 100000\r\n\r\n" + bytes(100000)
BUSY = b"HTTP/1.1 503 Slow Down\r\nContent-Length: 0\r\n\r\n"


@dataclass
class Store:
    """Gives its answers one after the other; after `None` it closes the connection without a word."""

    answers: list[bytes | None]
    url: str = ""
    connections: int = 0
    asked: list[bytes] = field(default_factory=list)

    def serve(self, listening: socket.socket) -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            self.connections += 1
            # Whoever leaves a part of an answer unread resets the connection.
            with connection, suppress(ConnectionError):
                self._answer(connection)

    def _answer(self, connection: socket.socket) -> None:
        while data := connection.recv(1 << 20):
            self.asked.append(data)
            answer = self.answers.pop(0)
            connection.sendall(answer or b"")
            if self.answers and self.answers[0] is None:
                self.answers.pop(0)
                return
            if answer is LAST:
                return


@contextmanager
def a_store(*answers: bytes | None) -> Iterator[Store]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        store = Store(list(answers), f"http://127.0.0.1:{listening.getsockname()[1]}/bucket/a")
        thread = threading.Thread(target=store.serve, args=(listening,), daemon=True)
        thread.start()
        yield store


@contextmanager
def http(reach: Reach = HERE) -> Iterator[GuardedHttp]:
    with closing(GuardedHttp(reach, policy=RetryPolicy(attempts=3, first=0.0))) as made:
        yield made


def test_requests_go_over_one_connection_in_one_piece() -> None:
    with a_store(OK, OK, OK) as store, http() as client:
        for _ in range(3):
            answer = client.send_small("PUT", f"{store.url}?x=1", {"If-None-Match": "*"}, b"content")
            assert (answer.status, answer.headers["ETag"], answer.body) == (200, '"e"', b"hi")
        assert store.connections == 1
        host = store.url.split("/")[2].encode()
        assert store.asked[0] == (
            b"PUT /bucket/a?x=1 HTTP/1.1\r\nHost: " + host + b"\r\nContent-Length: 7\r\nIf-None-Match: *\r\n\r\ncontent"
        )


def test_a_connection_that_was_closed_meanwhile_is_replaced() -> None:
    with a_store(OK, None, LAST, OK) as store, http() as client:
        for _ in range(3):
            assert client.send_small("PUT", store.url, {}, b"x").body == b"hi"
        assert store.connections == 3


def test_what_is_left_of_a_long_answer_is_not_taken_for_the_next() -> None:
    with a_store(LONG, OK) as store, http() as client:
        first = client.send_small("PUT", store.url, {}, b"x")
        assert first.status == 400 and 1000 < len(first.body) < 100000
        assert client.send_small("PUT", store.url, {}, b"x").body == b"hi"
        assert store.connections == 2


def test_what_may_pass_is_tried_again_and_then_said() -> None:
    with a_store(BUSY, OK, BUSY, BUSY, BUSY) as store, http() as client:
        assert client.send_small("PUT", store.url, {}, b"x").status == 200
        with pytest.raises(StoreUnavailable, match="it answered 503"):
            client.send_small("PUT", store.url, {}, b"x")
        assert len(store.asked) == 5


def test_nobody_is_reached_who_may_not_be() -> None:
    with a_store(OK) as store, http(Reach()) as client:
        with pytest.raises(AddressRefused, match="not https"):
            client.send_small("PUT", store.url, {}, b"x")
        with pytest.raises(AddressRefused, match="not a public address"):
            client.send_small("PUT", store.url.replace("http:", "https:"), {}, b"x")
        assert store.connections == 0


def test_a_header_is_one_line() -> None:
    with a_store(OK) as store, http() as client:
        with pytest.raises(StoreUnavailable, match="line break"):
            client.send_small("PUT", store.url, {"x": "a\r\nHost: other"}, b"x")
        assert store.connections == 0
