"""An HTTP proxy that misbehaves on demand, to stand between anybody and an object store.

    with faulty_proxy(seaweed.endpoint) as proxy:
        proxy.fail(resets, times=3, method="PUT")

The proxy's address is the store's endpoint for server and clients alike, and the Host header is passed on, so
signatures stay right.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

_HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding", "content-length", "date", "server"}
_PIECE = 1 << 14


@dataclass(frozen=True, slots=True)
class Answer:
    """What the store said."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes


@dataclass
class Exchange:
    """One request on its way: `forward` asks the store, `send` answers the client."""

    handler: BaseHTTPRequestHandler
    target: str
    body: bytes

    def forward(self) -> Answer:
        connection = HTTPConnection(self.target, timeout=60)
        try:
            headers = {name: value for name, value in self.handler.headers.items() if name.lower() != "connection"}
            connection.request(self.handler.command, self.handler.path, body=self.body or None, headers=headers)
            response = connection.getresponse()
            return Answer(response.status, response.getheaders(), response.read())
        finally:
            connection.close()

    def send(self, answer: Answer, *, length: int | None = None) -> None:
        """With `length` the client is told of more or fewer bytes than come."""
        told = {name.lower(): value for name, value in answer.headers}.get("content-length")
        is_head = self.handler.command == "HEAD" and told is not None
        self.handler.send_response(answer.status)
        for name, value in answer.headers:
            if name.lower() not in _HOP_BY_HOP:
                self.handler.send_header(name, value)
        self.handler.send_header("Content-Length", told if is_head and told else str(length or len(answer.body)))
        self.handler.end_headers()
        if not is_head:
            self.handler.wfile.write(answer.body)

    def reset(self) -> None:
        self.handler.close_connection = True
        linger = b"\1\0\0\0\0\0\0\0"  # on, for no time: closing sends RST
        self.handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.handler.connection.close()


Fault = Callable[[Exchange], None]


def answers(status: int, **headers: str) -> Fault:
    """The store is not even asked. Underscores in names of headers stand for hyphens."""
    named = [(name.replace("_", "-"), value) for name, value in headers.items()]
    return lambda exchange: exchange.send(Answer(status, named, b"<Error/>"))


def resets(exchange: Exchange) -> None:
    """Before the store hears of it."""
    exchange.reset()


def loses_the_answer(exchange: Exchange) -> None:
    """The store does it, and nobody learns of it."""
    exchange.forward()
    exchange.reset()


def truncates(exchange: Exchange) -> None:
    """Half of the body comes, then the connection ends."""
    answer = exchange.forward()
    half = Answer(answer.status, answer.headers, answer.body[: len(answer.body) // 2])
    exchange.send(half, length=len(answer.body))
    exchange.handler.close_connection = True


def shortens(exchange: Exchange) -> None:
    """Half of the body, as if that were all of it."""
    answer = exchange.forward()
    exchange.send(Answer(answer.status, answer.headers, answer.body[: len(answer.body) // 2]))


def corrupts(exchange: Exchange) -> None:
    """A body of the right length with one wrong bit, as a broken cache or memory makes it."""
    answer = exchange.forward()
    body = bytearray(answer.body)
    if body:
        body[len(body) // 2] ^= 1
    exchange.send(Answer(answer.status, answer.headers, bytes(body)))


def corrupts_the_request(exchange: Exchange) -> None:
    """The store receives one wrong bit."""
    body = bytearray(exchange.body)
    if body:
        body[len(body) // 2] ^= 1
    exchange.body = bytes(body)
    exchange.send(exchange.forward())


def hangs(seconds: float) -> Fault:
    """No answer for so long; then the connection ends."""

    def fault(exchange: Exchange) -> None:
        time.sleep(seconds)  # a store that is slow is what is wanted
        exchange.reset()

    return fault


def drips(seconds: float) -> Fault:
    """Everything comes, spread evenly over so many seconds."""

    def fault(exchange: Exchange) -> None:
        answer = exchange.forward()
        exchange.send(Answer(answer.status, answer.headers, b""), length=len(answer.body))
        pieces = [answer.body[at : at + _PIECE] for at in range(0, len(answer.body), _PIECE)]
        for piece in pieces:
            time.sleep(seconds / len(pieces))  # as above
            exchange.handler.wfile.write(piece)

    return fault


@dataclass
class Planned:
    fault: Fault
    times: int
    method: str | None
    part: str


@dataclass
class FaultyProxy:
    """`endpoint` is what to use in place of the store's own."""

    endpoint: str
    seen: list[str] = field(default_factory=list)
    _planned: list[Planned] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def fail(self, fault: Fault, *, times: int = 1, method: str | None = None, part: str = "") -> None:
        """The next `times` requests of that method whose path holds `part` meet this fault."""
        with self._lock:
            self._planned.append(Planned(fault, times, method, part))

    def heal(self) -> None:
        with self._lock:
            self._planned.clear()

    @property
    def left(self) -> int:
        """How many faults are still to come."""
        with self._lock:
            return sum(planned.times for planned in self._planned)

    def take(self, method: str, path: str) -> Fault | None:
        with self._lock:
            self.seen.append(f"{method} {path.partition('?')[0]}")
            for planned in self._planned:
                if planned.times and planned.method in (None, method) and planned.part in path:
                    planned.times -= 1
                    return planned.fault
        return None


@contextmanager
def faulty_proxy(endpoint: str) -> Iterator[FaultyProxy]:
    """A proxy in front of `endpoint` that behaves until it is told not to."""
    with _Server(("127.0.0.1", 0), _Handler) as server:
        server.target = urlsplit(endpoint).netloc
        server.proxy = FaultyProxy(f"http://127.0.0.1:{server.server_address[1]}")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, name="faulty proxy")
        thread.start()
        try:
            yield server.proxy
        finally:
            server.shutdown()
            thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    target: str
    proxy: FaultyProxy

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that gave up is part of the game."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *arguments: object) -> None:
        pass

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        exchange = Exchange(self, self.server.target, body)
        fault = self.server.proxy.take(self.command, self.path)
        if fault is not None:
            fault(exchange)
            return
        try:
            exchange.send(exchange.forward())
        except (OSError, HTTPException):
            exchange.reset()

    do_GET = do_PUT = do_HEAD = do_DELETE = do_POST = _serve
