"""Where audit entries are sent as they happen: a receiver of syslog over UDP, TCP or a local socket."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

from millpond.decide.syslog import as_datagram, counted
from millpond.errors import BadRequest

_SECONDS = 5.0
_PORT = 514


@dataclass(frozen=True, slots=True)
class Target:
    """`kind` is udp, tcp or unix; a local socket has a path instead of host and port."""

    kind: str
    host: str = ""
    port: int = 0
    path: str = ""

    @classmethod
    def parse(cls, url: str) -> Target:
        """BadRequest for what is no such address."""
        parts = urlsplit(url)
        try:
            port = parts.port or _PORT
        except ValueError as error:
            raise _bad(url) from error
        if parts.scheme in ("udp", "tcp") and parts.hostname and not parts.path.strip("/") and not parts.query:
            return cls(parts.scheme, parts.hostname, port)
        path = unquote(parts.path)
        if parts.scheme == "unix" and path.startswith("/") and not parts.netloc:
            return cls("unix", path=path)
        raise _bad(url)

    def __str__(self) -> str:
        if self.kind == "unix":
            return f"unix:{self.path}"
        return f"{self.kind}://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"


def _bad(url: str) -> BadRequest:
    return BadRequest(
        f"{url[:100]!r} is not the address of a syslog receiver.",
        hint="Write it as udp://HOST:514, tcp://HOST:601 or unix:/dev/log.",
    )


class Receiver:
    """One connection, made when it is needed. OSError when the receiver is away: then it is made anew."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._socket: socket.socket | None = None
        self._is_stream = target.kind == "tcp"

    def send(self, line: str, entry: Mapping[str, Any]) -> None:
        """Hand one message to the network, whole or (with OSError) not as far as this connection goes."""
        connection = self._socket or self._connect()
        if self._is_stream:
            connection.sendall(counted(line))
        else:
            connection.send(as_datagram(line, entry))

    def was_closed(self) -> bool:
        """True if the receiver has closed the connection after it read everything; OSError if it left something."""
        if self._socket is None or not self._is_stream:
            return False
        self._socket.setblocking(False)
        try:
            return self._socket.recv(4096) == b""
        except BlockingIOError:
            return False
        finally:
            self._socket.settimeout(_SECONDS)

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _connect(self) -> socket.socket:
        target = self._target
        if target.kind == "unix":
            self._socket, self._is_stream = _local(target.path)
        elif target.kind == "tcp":
            self._socket = socket.create_connection((target.host, target.port), timeout=_SECONDS)
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        else:
            found = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_DGRAM)[0]
            self._socket = socket.socket(found[0], socket.SOCK_DGRAM)
            self._socket.connect(found[4])
        self._socket.settimeout(_SECONDS)
        return self._socket


def _local(path: str) -> tuple[socket.socket, bool]:
    """Of datagrams, as /dev/log is; or a stream, counted as over TCP."""
    for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
        connection = socket.socket(socket.AF_UNIX, kind)
        try:
            connection.connect(path)
        except OSError as error:
            connection.close()
            if kind is socket.SOCK_DGRAM and error.errno == 91:  # EPROTOTYPE: it is of the other kind
                continue
            raise
        return connection, kind is socket.SOCK_STREAM
    raise AssertionError("one of the two is returned or raises")
