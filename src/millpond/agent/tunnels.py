"""Streams to jobs that somebody at the server waits for: a command beside a job, or a port of it.

docs/design/011-tunnels.md has the messages.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path

from millpond.agent.beside import run_beside
from millpond.agent.drivers import Driver, Reachable
from millpond.agent.stream import Stream
from millpond.agent.threads import in_thread
from millpond.wire.agent import DesiredTunnel

log = logging.getLogger(__name__)

PIECE = 1 << 16


Connect = Callable[[str], Awaitable[Stream]]


async def no_tunnel(tunnel: str) -> Stream:
    raise ConnectionError(f"this agent opens no streams, so not {tunnel}")


class Tunnels:
    """Each is opened once, by its id, and ends with its placement."""

    def __init__(self, driver: Driver, directory_of: Callable[[str], Path], connect: Connect) -> None:
        self._driver = driver
        self._directory_of = directory_of
        self._connect = connect
        self._tasks: dict[str, tuple[str, asyncio.Task[None]]] = {}

    def reconcile(self, wanted: Sequence[DesiredTunnel], living: Collection[str]) -> None:
        """`living` are the placements that the server still knows."""
        for one in wanted:
            if one.id not in self._tasks and one.placement_id in living:
                task = asyncio.create_task(self._serve(one), name=f"tunnel {one.id}")
                self._tasks[one.id] = (one.placement_id, task)
        asked = {one.id for one in wanted}
        for tunnel, (placement, task) in list(self._tasks.items()):
            if placement not in living:
                task.cancel()
            # As long as the server asks for it, it is remembered: it is opened once.
            if task.done() and tunnel not in asked:
                del self._tasks[tunnel]

    def end(self) -> None:
        for _, task in self._tasks.values():
            task.cancel()

    async def _serve(self, wanted: DesiredTunnel) -> None:
        try:
            stream = await self._connect(wanted.id)
        except OSError as error:
            log.warning("tunnel not opened: tunnel=%s %s", wanted.id, error)
            return
        try:
            await (self._exec(wanted, stream) if wanted.kind == "exec" else self._port(wanted, stream))
        except OSError as error:
            with suppress(ConnectionError):
                await stream.send(json.dumps({"problem": {"code": "not_ready", "status": 409, "detail": str(error)}}))
        except Exception:
            log.exception("tunnel failed: tunnel=%s placement=%s", wanted.id, wanted.placement_id)
        finally:
            await stream.close()

    async def _exec(self, wanted: DesiredTunnel, stream: Stream) -> None:
        driver = _reachable(self._driver)
        directory = self._directory_of(wanted.placement_id)
        command = await in_thread(lambda: driver.enter(directory, wanted.command, tty=wanted.tty))
        size = (wanted.columns, wanted.rows) if wanted.tty else None
        await run_beside(command, stream, terminal=size)

    async def _port(self, wanted: DesiredTunnel, stream: Stream) -> None:
        driver = _reachable(self._driver)
        directory = self._directory_of(wanted.placement_id)
        host, port = await in_thread(lambda: driver.address(directory, wanted.port))
        reader, writer = await asyncio.open_connection(host, port)
        await stream.send(json.dumps({"opened": True}))
        try:
            await _both_ways(reader, writer, stream)
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()


def _reachable(driver: Driver) -> Reachable:
    if not isinstance(driver, Reachable):
        raise OSError(f"Jobs of the driver {driver.name} cannot be reached.")
    return driver


async def _both_ways(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, stream: Stream) -> None:
    """Until the client is gone, or both sides have said that they send no more."""
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
    """Whether the client ended its side by saying so; False when it is gone."""
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
