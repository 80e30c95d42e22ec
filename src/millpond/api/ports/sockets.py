"""A WebSocket between a browser and a job, over a pipe."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from starlette.websockets import WebSocket, WebSocketDisconnect
from websockets.client import ClientProtocol
from websockets.frames import Frame, Opcode
from websockets.http11 import Response
from websockets.uri import parse_uri

from millpond.api.ports.headers import Names, inwards
from millpond.api.ports.pipe import Pipe
from millpond.services.jobs.tunnels import until_one_ends

# The handshake's own headers are made anew.
_HANDSHAKE = frozenset(
    b"sec-websocket-key sec-websocket-version sec-websocket-extensions sec-websocket-protocol".split()
)
_REFUSED = 1011


class JobSocket:
    """The job's end: messages of a WebSocket over bytes of a pipe."""

    def __init__(self, pipe: Pipe, names: Names, socket: WebSocket) -> None:
        self._pipe = pipe
        path = socket.scope.get("raw_path", socket.scope["path"].encode()).decode("latin-1")
        query = socket.scope["query_string"].decode("latin-1")
        uri = parse_uri(f"ws://{names.inside_host}{path}{'?' + query if query else ''}")
        self._protocol = ClientProtocol(uri, subprotocols=list(socket.scope["subprotocols"]) or None, max_size=None)
        self._headers = [
            (name.decode("latin-1"), value.decode("latin-1"))
            for name, value in inwards(names, socket.scope["headers"])
            if name.lower() not in _HANDSHAKE and name.lower() != b"host"
        ]
        self._message: tuple[Opcode, bytearray] | None = None
        # What came together with the answer to the handshake.
        self._early: list[str | bytes] = []

    async def shake_hands(self) -> str | None:
        """The subprotocol that the job chose. ConnectionError where it refuses."""
        request = self._protocol.connect()
        for name, value in self._headers:
            request.headers[name] = value
        self._protocol.send_request(request)
        await self._flush()
        while True:
            events = await self._hear()
            if events and isinstance(events[0], Response):
                if self._protocol.handshake_exc is not None:
                    raise ConnectionError(f"the job answered {events[0].status_code}")
                self._early = self._messages(events[1:])
                return self._protocol.subprotocol
            if self._protocol.close_expected() or self._protocol.handshake_exc is not None:
                raise ConnectionError("the job refused the connection")

    async def receive(self) -> list[str | bytes] | None:
        """Messages that came; None once it is over."""
        if self._early:
            found, self._early = self._early, []
            return found
        found = self._messages(await self._hear())
        if not found and (self._protocol.close_expected() or self._protocol.eof_sent):
            return None
        return found

    async def send(self, message: str | bytes) -> None:
        if isinstance(message, str):
            self._protocol.send_text(message.encode())
        else:
            self._protocol.send_binary(message)
        await self._flush()

    def _messages(self, events: Sequence[object]) -> list[str | bytes]:
        return [message for event in events if isinstance(event, Frame) for message in self._take(event)]

    def _take(self, frame: Frame) -> list[str | bytes]:
        if frame.opcode in (Opcode.TEXT, Opcode.BINARY):
            self._message = (frame.opcode, bytearray(frame.data))
        elif frame.opcode is Opcode.CONT and self._message is not None:
            self._message[1].extend(frame.data)
        else:
            return []
        if not frame.fin:
            return []
        opcode, data = self._message
        self._message = None
        return [data.decode()] if opcode is Opcode.TEXT else [bytes(data)]

    async def _hear(self) -> list[Frame | Response]:
        data = await self._pipe.read()
        if data:
            self._protocol.receive_data(data)
        else:
            self._protocol.receive_eof()
        await self._flush()
        return [event for event in self._protocol.events_received() if isinstance(event, Frame | Response)]

    async def _flush(self) -> None:
        await self._pipe.write(b"".join(self._protocol.data_to_send()))


async def exchange(pipe: Pipe, names: Names, socket: WebSocket) -> None:
    job = JobSocket(pipe, names, socket)
    try:
        chosen = await job.shake_hands()
    except ConnectionError:
        await socket.close(_REFUSED)
        return
    await socket.accept(chosen)
    try:
        await until_one_ends(_inwards(socket, job), _outwards(job, socket))
    finally:
        with suppress(WebSocketDisconnect, RuntimeError):
            await socket.close()


async def _inwards(socket: WebSocket, job: JobSocket) -> None:
    while True:
        message = await socket.receive()
        if message["type"] != "websocket.receive":
            return
        text: str | None = message.get("text")
        await job.send(text if text is not None else message.get("bytes") or b"")


async def _outwards(job: JobSocket, socket: WebSocket) -> None:
    while (messages := await job.receive()) is not None:
        for message in messages:
            await (socket.send_text(message) if isinstance(message, str) else socket.send_bytes(message))
