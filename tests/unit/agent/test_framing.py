"""Messages over bytes, cut anywhere."""

from __future__ import annotations

import asyncio

import pytest

from millpond.agent.framing import FramedStream


class Pieces:
    """What was written can be read, a few bytes at a time."""

    def __init__(self, size: int, data: bytes = b"") -> None:
        self._size = size
        self.data = data

    async def read(self) -> bytes:
        found, self.data = self.data[: self._size], self.data[self._size :]
        return found

    async def write(self, data: bytes) -> None:
        self.data += data

    async def close(self) -> None:
        pass


@pytest.mark.parametrize("size", [1, 3, 7, 100_000])
def test_messages_come_as_they_were_sent(size: int) -> None:
    async def talk() -> list[str | bytes | None]:
        stream = FramedStream(Pieces(size))
        for message in ('{"opened": true}', b"\x00" * 300, b"", "ä"):
            await stream.send(message)
        return [await stream.receive() for _ in range(5)]

    assert asyncio.run(talk()) == ['{"opened": true}', b"\x00" * 300, b"", "ä", None]


def test_half_a_message_is_the_end() -> None:
    assert asyncio.run(FramedStream(Pieces(10, b"b\x00\x00\x00\x05ab")).receive()) is None


def test_what_is_no_message_is_refused() -> None:
    """As when a shell's start-up file prints something before the far end begins."""
    with pytest.raises(ConnectionError, match="Invalid message"):
        asyncio.run(FramedStream(Pieces(100, b"Welcome to node 7!\n")).receive())
