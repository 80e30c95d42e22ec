"""The job's end of a WebSocket, over bytes that come in whatever pieces they like."""

from __future__ import annotations

import asyncio
from typing import cast

from starlette.types import Message
from starlette.websockets import WebSocket
from websockets.server import ServerProtocol

from millpond.api.ports.headers import Names
from millpond.api.ports.pipe import Pipe
from millpond.api.ports.sockets import JobSocket


class EagerJob:
    """Answers the handshake and says something at once, all in one piece."""

    def __init__(self) -> None:
        self._protocol = ServerProtocol()

    async def write(self, data: bytes | None) -> None:
        self._protocol.receive_data(data or b"")

    async def read(self) -> bytes:
        for event in self._protocol.events_received():
            self._protocol.send_response(self._protocol.accept(event))  # type: ignore[arg-type]  # the only request
            self._protocol.send_text(b"welcome")
            self._protocol.send_binary(b"\x00\xff")
        return b"".join(self._protocol.data_to_send())


def a_browser() -> WebSocket:
    async def receive() -> Message:
        raise AssertionError("the browser is not asked")

    async def send(_: Message) -> None:
        raise AssertionError("the browser is told nothing")

    scope = {"type": "websocket", "path": "/channels", "query_string": b"", "headers": [], "subprotocols": []}
    return WebSocket(scope, receive, send)


def test_what_comes_together_with_the_handshake_is_not_lost() -> None:
    async def talk() -> list[str | bytes] | None:
        job = JobSocket(cast(Pipe, EagerJob()), Names("http://8888-ab.localhost", 8888), a_browser())
        await job.shake_hands()
        return await asyncio.wait_for(job.receive(), 30)

    assert asyncio.run(talk()) == ["welcome", b"\x00\xff"]
