"""The job's side of a stream: a command next to the job, or a connection to its port.

Standard library alone: it runs in the agent, or in the agent's far end where the job is.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from millpond.agent.stream import Stream

PIECE = 1 << 16


async def told(work: Awaitable[None], stream: Stream) -> None:
    """Send errors to the other end as problems."""
    try:
        await work
    except OSError as error:
        with suppress(ConnectionError):
            await stream.send(json.dumps({"problem": {"code": "not_ready", "status": 409, "detail": str(error)}}))


async def serve_port(address: tuple[str, int], stream: Stream) -> None:
    """Forward until the client is gone or both sides have closed."""
    reader, writer = await asyncio.open_connection(*address)
    await stream.send(json.dumps({"opened": True}))
    try:
        await _both_ways(reader, writer, stream)
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


async def _both_ways(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, stream: Stream) -> None:
    inwards = asyncio.ensure_future(_inwards(stream, writer))
    outwards = asyncio.ensure_future(_outwards(reader, stream))
    try:
        await asyncio.wait({inwards, outwards}, return_when=asyncio.FIRST_COMPLETED)
        if not outwards.done() and inwards.result():
            await outwards  # the client has said all it has to say, and listens
        elif not inwards.done():
            await inwards  # so has the job
    finally:
        for task in (inwards, outwards):
            task.cancel()
        await asyncio.gather(inwards, outwards, return_exceptions=True)


async def _inwards(stream: Stream, writer: asyncio.StreamWriter) -> bool:
    """True if the client closed its side; False if it is gone."""
    while (message := await stream.receive()) is not None:
        if isinstance(message, str):
            continue
        if not message:
            with suppress(OSError):
                writer.write_eof()
            return True
        writer.write(message)
        await writer.drain()
    return False


async def _outwards(reader: asyncio.StreamReader, stream: Stream) -> None:
    while data := await reader.read(PIECE):
        await stream.send(data)
    await stream.send(b"")
