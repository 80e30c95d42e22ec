"""A time after which connections end. The limits of sockets are for each read: whoever sends a byte now and then passes
them all."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from types import TracebackType


class Deadline:
    """From the beginning of the block on; connections that are held later end at once when it is over."""

    def __init__(self, seconds: float) -> None:
        self._turn = threading.Lock()
        self._held: list[socket.socket] = []
        self._is_over = False
        self._timer = threading.Timer(seconds, self._end)
        self._timer.daemon = True

    def __enter__(self) -> Deadline:
        self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        with self._turn:
            for one in self._held:
                one.close()
            self._held.clear()

    @property
    def is_over(self) -> bool:
        """True if connections were ended: what was read of them may look complete and not be."""
        return self._is_over

    def hold(self, opened: socket.socket) -> None:
        with self._turn:
            # Another name for the same connection: TLS takes the socket itself away.
            self._held.append(opened.dup())
            if self._is_over:
                _shut(self._held[-1])

    def _end(self) -> None:
        with self._turn:
            self._is_over = True
            for one in self._held:
                _shut(one)


def _shut(connection: socket.socket) -> None:
    with suppress(OSError):  # the other side was first
        connection.shutdown(socket.SHUT_RDWR)
