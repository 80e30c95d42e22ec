"""What stands between agents and servers: a front that speaks TLS, a proxy that only knows CONNECT, a way that is cut.

with tls_front(server_port, tmp_path) as front, connect_proxy({"files.test:443": front.port}) as proxy:
    environment = {"HTTPS_PROXY": f"http://127.0.0.1:{proxy.port}"}
"""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from millpond.testing.website import make_certificate

# How often a way that is cut looks whether it still is.
_LOOK_SECONDS = 0.1


@dataclass
class Front:
    port: int
    certificate: Path = Path()
    # What a proxy was asked to connect to.
    asked: list[str] = field(default_factory=list)


@contextmanager
def tls_front(server_port: int, directory: Path) -> Iterator[Front]:
    """https in front of a server on this machine, with a certificate of an authority that nobody knows."""
    certificate, key = make_certificate(directory)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    def serve(client: socket.socket) -> None:
        with context.wrap_socket(client, server_side=True) as secured:
            _relay(secured, socket.create_connection(("127.0.0.1", server_port)))

    with _listening(serve) as port:
        yield Front(port, certificate)


@contextmanager
def connect_proxy(places: Mapping[str, int]) -> Iterator[Front]:
    """A proxy that knows where `host:port` lies on this machine, and refuses everything but CONNECT."""
    proxy = Front(0)

    def serve(client: socket.socket) -> None:
        head = b""
        while b"\r\n\r\n" not in head and (data := client.recv(4096)):
            head += data
        method, target = head.decode().split()[:2]
        proxy.asked.append(target)
        if method != "CONNECT" or target not in places:
            client.sendall(b"HTTP/1.1 403 Forbidden\r\n\r\n")
            return
        client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        _relay(client, socket.create_connection(("127.0.0.1", places[target])))

    with _listening(serve) as port:
        proxy.port = port
        yield proxy


@dataclass
class Way:
    """To a server of this machine: may be led to another one, or cut, and then nothing passes and nothing is closed."""

    server_port: int
    is_cut: bool = False
    port: int = 0
    # Bytes that came from the server, and after how many of them it closes for good.
    passed: int = 0
    ends_after: int | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def way_to(server_port: int) -> Iterator[Way]:
    way = Way(server_port)

    def serve(client: socket.socket) -> None:
        with socket.create_connection(("127.0.0.1", way.server_port)) as server:
            other = {client: server, server: client}
            while True:
                ready = select.select(list(other), [], [], _LOOK_SECONDS)[0]
                if way.is_cut:
                    time.sleep(_LOOK_SECONDS)
                    continue
                for one in ready:
                    data = one.recv(1 << 16)
                    if not data:
                        return
                    way.passed += len(data) if one is server else 0
                    if way.ends_after is not None and way.passed > way.ends_after:
                        way.server_port = 1  # nobody listens there
                        return
                    other[one].sendall(data)

    with _listening(serve) as port:
        way.port = port
        yield way


@contextmanager
def _listening(serve: Callable[[socket.socket], None]) -> Iterator[int]:
    listening = socket.create_server(("127.0.0.1", 0))

    def one(client: socket.socket) -> None:
        with client, contextlib.suppress(OSError):
            serve(client)

    def accept() -> None:
        with contextlib.suppress(OSError):  # closed: the end
            while True:
                client, _ = listening.accept()
                threading.Thread(target=one, args=(client,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield listening.getsockname()[1]
    finally:
        with contextlib.suppress(OSError):
            listening.shutdown(socket.SHUT_RDWR)
        listening.close()


def _relay(a: socket.socket, b: socket.socket) -> None:
    """Both directions, until either side ends. In one thread: OpenSSL lets no two use a connection at the same time."""
    other = {a: b, b: a}
    with b:
        while True:
            # What TLS has read ahead does not show on the socket any more.
            ahead = [one for one in other if isinstance(one, ssl.SSLSocket) and one.pending()]
            for one in ahead or select.select(list(other), [], [])[0]:
                data = one.recv(1 << 16)
                if not data:
                    return
                other[one].sendall(data)
