"""Messages over a pair of byte streams, between the agent and its far end next to a job on another machine.

Standard library alone: this file goes where jobs run, to whatever Python is there.
"""

from __future__ import annotations

import asyncio
import struct
from typing import Protocol

# What a message is, and how many bytes of it follow.
_HEAD = struct.Struct(">cI")
_TEXT, _BYTES = b"t", b"b"
MOST_BYTES = 1 << 24


class ByteStream(Protocol):
    async def read(self) -> bytes:
        """The next bytes; empty if the other end is gone."""
        ...

    async def write(self, data: bytes) -> None:
        """Returns when there is room for more. Raises ConnectionError once the other end is gone."""
        ...

    async def close(self) -> None: ...


class FramedStream:
    """A `stream.Stream` over bytes."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._rest = b""
        # Two that send at once must not mix their pieces.
        self._sending = asyncio.Lock()

    async def receive(self) -> str | bytes | None:
        head = await self._exactly(_HEAD.size)
        if head is None:
            return None
        kind, size = _HEAD.unpack(head)
        if size > MOST_BYTES:
            raise ConnectionError("Invalid message from the job's machine.")
        body = await self._exactly(size)
        return None if body is None else body.decode() if kind == _TEXT else body

    async def send(self, message: str | bytes) -> None:
        kind, body = (_TEXT, message.encode()) if isinstance(message, str) else (_BYTES, message)
        async with self._sending:
            await self._stream.write(_HEAD.pack(kind, len(body)) + body)

    async def close(self) -> None:
        await self._stream.close()

    async def _exactly(self, size: int) -> bytes | None:
        while len(self._rest) < size:
            data = await self._stream.read()
            if not data:
                return None
            self._rest += data
        found, self._rest = self._rest[:size], self._rest[size:]
        return found
