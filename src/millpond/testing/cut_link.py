"""A way to a service of this machine that can be cut and mended: what an outage looks like to whoever uses it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_PIECE = 1 << 16


class CutLink:
    """Passes TCP connections to 127.0.0.1:`port` on to a port or a Unix socket. Cut, it refuses and breaks all."""

    def __init__(self, target: int | Path) -> None:
        self._target = target
        self._turn = threading.Lock()
        self._open: set[socket.socket] = set()
        self._listening = self._listen(0)
        self.port: int = self._listening.getsockname()[1]

    def cut(self) -> None:
        with self._turn:
            _close(self._listening)
            for connection in self._open:
                _close(connection)
            self._open.clear()

    def mend(self) -> None:
        with self._turn:
            self._listening = self._listen(self.port)

    def _listen(self, port: int) -> socket.socket:
        listening = socket.create_server(("127.0.0.1", port))
        threading.Thread(target=self._accept, args=(listening,), name="link", daemon=True).start()
        return listening

    def _accept(self, listening: socket.socket) -> None:
        while True:
            try:
                near, _ = listening.accept()
            except OSError:
                return
            try:
                far = self._connect()
            except OSError:
                _close(near)
                continue
            with self._turn:
                self._open |= {near, far}
            for one, other in ((near, far), (far, near)):
                threading.Thread(target=self._pass, args=(one, other), name="link", daemon=True).start()

    def _connect(self) -> socket.socket:
        if isinstance(self._target, int):
            return socket.create_connection(("127.0.0.1", self._target))
        far = socket.socket(socket.AF_UNIX)
        far.connect(str(self._target))
        return far

    def _pass(self, one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while data := one.recv(_PIECE):
                other.sendall(data)
        with self._turn:
            self._open -= {one, other}
        _close(one)
        _close(other)


def _close(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()


@contextmanager
def cut_link(target: int | Path) -> Iterator[CutLink]:
    link = CutLink(target)
    try:
        yield link
    finally:
        link.cut()
