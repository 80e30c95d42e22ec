"""A WebSocket from the agent to the server, outwards like everything else."""

from __future__ import annotations

from typing import Protocol
from urllib.parse import urlsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, WebSocketException

from millpond.client.http import API
from millpond.proxy import proxy_for
from millpond.trust import tls_context
from millpond.wire.desired import DesiredTunnel

OPEN_SECONDS = 10.0


class Stream(Protocol):
    async def receive(self) -> str | bytes | None:
        """The next message; None if the stream is closed."""
        ...

    async def send(self, message: str | bytes) -> None:
        """Raises ConnectionError if the stream is closed."""
        ...

    async def close(self) -> None: ...


class WebSocketStream:
    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket

    async def receive(self) -> str | bytes | None:
        try:
            return await self._socket.recv()
        except ConnectionClosed:
            return None

    async def send(self, message: str | bytes) -> None:
        try:
            await self._socket.send(message)
        except ConnectionClosed as error:
            raise ConnectionError("The stream is closed.") from error

    async def close(self) -> None:
        await self._socket.close()


async def open_tunnel(server: str, token: str, wanted: DesiredTunnel) -> Stream:
    """The agent's end of a tunnel, at its own server or at the one that waits for it. Raises OSError when it cannot be
    opened."""
    parts = urlsplit(wanted.server or server)
    is_secure = parts.scheme == "https"
    url = f"{'wss' if is_secure else 'ws'}://{parts.netloc}{parts.path.rstrip('/')}{API}/agents/tunnels/{wanted.id}"
    try:
        socket = await connect(
            url,
            additional_headers={"Authorization": f"Bearer {token}"},
            ssl=tls_context() if is_secure else None,
            proxy=proxy_for(parts.geturl()),
            open_timeout=OPEN_SECONDS,
            max_size=None,
        )
    except WebSocketException as error:
        raise ConnectionError(f"{parts.netloc} refuses the stream: {error}") from error
    return WebSocketStream(socket)
