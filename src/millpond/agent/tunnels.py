"""Streams to jobs requested through the server: a command next to a job, or a port of it.

docs/design/011-tunnels.md has the messages.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Sequence
from pathlib import Path

from millpond.agent.drivers import Driver, Reachable, Remote
from millpond.agent.exec_session import run_beside
from millpond.agent.framing import ByteStream, FramedStream
from millpond.agent.serving import serve_port, told
from millpond.agent.stream import Stream
from millpond.agent.threads import in_thread
from millpond.wire.desired import DesiredTunnel

log = logging.getLogger(__name__)

Connect = Callable[[DesiredTunnel], Awaitable[Stream]]


async def no_tunnel(wanted: DesiredTunnel) -> Stream:
    raise ConnectionError(f"this agent opens no streams, so not {wanted.id}")


class AgentTunnels:
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
            stream = await self._connect(wanted)
        except OSError as error:
            log.warning("tunnel not opened: tunnel=%s %s", wanted.id, error)
            return
        try:
            await told(self._lead(wanted, stream), stream)
        except Exception:
            log.exception("tunnel failed: tunnel=%s placement=%s", wanted.id, wanted.placement_id)
        finally:
            await stream.close()

    async def _lead(self, wanted: DesiredTunnel, stream: Stream) -> None:
        directory = self._directory_of(wanted.placement_id)
        driver = self._driver
        if isinstance(driver, Remote):
            await _through_far_end(await driver.far_end(directory, wanted.rank), wanted, stream)
        elif not isinstance(driver, Reachable):
            raise OSError(f"The driver {driver.name} does not support streams to jobs.")
        elif wanted.kind == "exec":
            asked, tty, rank = wanted.command, wanted.tty, wanted.rank
            command = await in_thread(lambda: driver.enter(directory, asked, tty=tty, rank=rank))
            size = (wanted.columns, wanted.rows) if wanted.tty else None
            await run_beside(command, stream, terminal=size)
        else:
            await serve_port(await in_thread(lambda: driver.address(directory, wanted.port)), stream)


async def _through_far_end(bytes_: ByteStream, wanted: DesiredTunnel, stream: Stream) -> None:
    """Send the request to the far end, then forward messages until either end is gone."""
    far = FramedStream(bytes_)
    try:
        await far.send(wanted.model_dump_json())
        passing = [asyncio.ensure_future(_pass_on(*way)) for way in ((stream, far), (far, stream))]
        try:
            await asyncio.wait(passing, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in passing:
                task.cancel()
            results = await asyncio.gather(*passing, return_exceptions=True)
        for failure in results:
            if isinstance(failure, OSError):
                raise failure
    finally:
        await far.close()


async def _pass_on(source: Stream, target: Stream) -> None:
    while (message := await source.receive()) is not None:
        await target.send(message)
