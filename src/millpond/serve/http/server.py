"""Listening on a TCP port or a Unix socket, with or without TLS; closing without losing what is in flight."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
import ssl
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

from ..errors import ServeError
from ..ports import port_taken
from .compression import INLINE_BYTES, decompress
from .connection import Connection
from .limits import Limits
from .message import Handler, Request, Response

SWEEP_SECONDS = 1.0
TLS_HANDSHAKE_SECONDS = 15.0


class HttpServer:
    """A server of one handler; made by `serve_http`. `address` is where it listens, as `listen` is written."""

    def __init__(self, handler: Handler, limits: Limits, *, decode_bodies: bool) -> None:
        self.loop = asyncio.get_running_loop()
        self.limits = limits
        # True once no new requests are wanted: every answer closes its connection.
        self.draining = False
        self.address = ""
        # Bytes of bodies that all connections hold.
        self.buffered = 0
        self._handler = handler
        self._decode_bodies = decode_bodies
        self._connections: set[Connection] = set()
        self._all_idle = asyncio.Event()
        self._listener: asyncio.Server | None = None
        self._unix_path: Path | None = None
        self._sweeper = self.loop.call_later(SWEEP_SECONDS, self._sweep)

    async def listen(self, address: str, tls: ssl.SSLContext | None = None) -> None:
        """Begin to listen at `unix:/path` or `tcp:host:port`; port 0 is any free one."""
        kind, _, where = address.partition(":")
        # Refused by the loop where there is no TLS.
        more: dict[str, Any] = {"ssl": tls, "ssl_handshake_timeout": TLS_HANDSHAKE_SECONDS} if tls else {}
        if kind == "unix":
            self._unix_path = Path(where)
            _remove_stale(self._unix_path)
            self._listener = await self.loop.create_unix_server(self._connect, where, backlog=1024, **more)
            self.address = address
            return
        if kind != "tcp" or ":" not in where:
            raise ValueError(f"cannot listen at {address!r}: write unix:/path or tcp:host:port")
        host, _, port = where.rpartition(":")
        bare = host.strip("[]")
        try:
            self._listener = await self.loop.create_server(self._connect, bare or None, int(port), backlog=1024, **more)
        except OSError as error:
            taken = port_taken(int(port)) if error.errno == errno.EADDRINUSE else None
            raise OSError(error.errno, taken or f"cannot listen at {where}: {error.strerror or error}") from error
        self.address = f"tcp:{host}:{self._listener.sockets[0].getsockname()[1]}"

    async def drain(self, seconds: float) -> bool:
        """Accept no new connections, finish what was begun, close; False if something still ran after `seconds`."""
        self.draining = True
        self._stop_listening()
        for connection in list(self._connections):
            connection.close_if_idle()
        self._look_if_idle()
        try:
            await asyncio.wait_for(self._all_idle.wait(), seconds)
            return True
        except TimeoutError:
            return False
        finally:
            await self.close()

    async def close(self) -> None:
        """End at once; requests in flight are lost."""
        self.draining = True
        self._stop_listening()
        self._sweeper.cancel()
        for connection in list(self._connections):
            connection.abort()
        # The loop tells each connection of its end before anyone else.
        while self._connections:
            await asyncio.sleep(0)

    @property
    def connections(self) -> int:
        return len(self._connections)

    # Called by connections

    def handle(self, request: Request) -> Response | Awaitable[Response]:
        if self._decode_bodies and request.body:
            encoding = request.header(b"content-encoding")
            if encoding is not None:
                return self._decoded(request, encoding.decode("latin-1").strip().lower())
        return self._handler(request)

    def opened(self, connection: Connection) -> bool:
        """True if there is room for one more."""
        self._connections.add(connection)
        return len(self._connections) <= self.limits.connections

    def closed(self, connection: Connection) -> None:
        self._connections.discard(connection)
        self._look_if_idle()

    def _decoded(self, request: Request, encoding: str) -> Response | Awaitable[Response]:
        if len(request.body) <= INLINE_BYTES:
            request.body = decompress(request.body, encoding, self.limits.body_bytes)
            return self._handler(request)
        return self._decoded_aside(request, encoding)

    async def _decoded_aside(self, request: Request, encoding: str) -> Response:
        request.body = await asyncio.to_thread(decompress, request.body, encoding, self.limits.body_bytes)
        result = self._handler(request)
        return result if isinstance(result, Response) else await result

    def _connect(self) -> Connection:
        return Connection(self)

    def _stop_listening(self) -> None:
        if self._listener is not None:
            self._listener.close()
            self._listener = None
            if self._unix_path is not None:
                self._unix_path.unlink(missing_ok=True)

    def _look_if_idle(self) -> None:
        if self.draining and not any(connection.busy for connection in self._connections):
            self._all_idle.set()

    def _sweep(self) -> None:
        now = self.loop.time()
        for connection in [each for each in self._connections if each.deadline < now]:
            connection.expire()
        self._sweeper = self.loop.call_later(SWEEP_SECONDS, self._sweep)


async def serve_http(
    handler: Handler,
    *,
    listen: str,
    limits: Limits | None = None,
    tls: ssl.SSLContext | None = None,
    decode_bodies: bool = True,
) -> HttpServer:
    """Start to serve at `listen` (`unix:/path`, `tcp:host:port`). Without `decode_bodies` the handler decompresses."""
    server = HttpServer(handler, limits or Limits(), decode_bodies=decode_bodies)
    try:
        await server.listen(listen, tls)
    except BaseException:
        await server.close()
        raise
    return server


def tls_context(certificate: Path, key: Path | None = None) -> ssl.SSLContext:
    """TLS from PEM files; 1.2 or newer."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        raise ServeError(500, f"cannot use {certificate} for TLS: {error}") from error
    return context


def _remove_stale(path: Path) -> None:
    """Remove a socket that a killed server left; refuse to take one that somebody listens at."""
    if not path.is_socket():
        return
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            with contextlib.suppress(FileNotFoundError):
                path.unlink()
            return
    raise OSError(f"cannot listen at {path}: another server does")
