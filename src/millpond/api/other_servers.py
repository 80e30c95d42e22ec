"""An agent that came to this server for a stream that another server of the database waits for is led there."""

from __future__ import annotations

from contextlib import suppress

from starlette.websockets import WebSocket
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, WebSocketException

from millpond.errors import Unavailable
from millpond.services.jobs.tunnels import Socket, relay

# Both are machines of one installation.
_OPEN_SECONDS = 5.0
_HANDED_ON = ("authorization", "x-mill-protocol")


class _OtherServer:
    """A `tunnels.Socket` on the connection to the other server."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection

    async def receive(self) -> str | bytes | None:
        try:
            return await self._connection.recv()
        except ConnectionClosed:
            return None

    async def send(self, message: str | bytes) -> None:
        with suppress(ConnectionClosed):
            await self._connection.send(message)


async def pass_on_to(server: str, socket: WebSocket, agent: Socket) -> None:
    """Relay the agent's stream to the server at this address, with the agent's own credential, until either is gone."""
    url = f"{server.rstrip('/').replace('http', 'ws', 1)}{socket.url.path}"
    headers = {name: value for name, value in socket.headers.items() if name.lower() in _HANDED_ON}
    try:
        connection = await connect(
            url, additional_headers=headers, open_timeout=_OPEN_SECONDS, max_size=None, compression=None, proxy=None
        )
    except (OSError, WebSocketException) as error:
        raise Unavailable(
            f"The server {server}, which waits for this stream, cannot be reached from here.",
            hint="Let servers of one database reach each other, or set --advertised-url.",
        ) from error
    async with connection:
        await relay(agent, _OtherServer(connection))
