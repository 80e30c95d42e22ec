"""Sends the logs of a placement to the server, by offset, so that nothing is lost or duplicated.

Logs wait on disk while the server is unreachable; the keeper limits their size.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from pathlib import Path

from millpond.agent.log_file import LogFile, Taken
from millpond.agent.request_log import RequestLogTaker
from millpond.agent.server import Server
from millpond.agent.usage import UsageShipper
from millpond.errors import MillError, NotFound, StalePlacement
from millpond.retry import Backoff

log = logging.getLogger(__name__)

BATCH_BYTES = 4 << 20
# How often the files are looked at while the command runs: at once when it writes, less often when it is silent.
LOOK_SECONDS = 0.1
QUIET_SECONDS = 0.4
USAGE_SECONDS = 1.0


class Shipper:
    """Sends the log (one per rank of a distributed job) and usage of a placement until `finish`.

    Stops quietly if the server refuses them.
    """

    def __init__(
        self,
        server: Server,
        placement: str,
        keepers: Sequence[Path],
        *,
        adopted: bool,
        measured: Callable[[], dict[str, float]] = dict,
        requests: RequestLogTaker | None = None,
    ) -> None:
        """`keepers`: the directories of its keepers, in order of rank. `requests`: the log of a router's requests."""
        self._logs = [
            LogShipper(server, placement, directory, rank=rank, adopted=adopted)
            for rank, directory in enumerate(keepers)
        ]
        self._usage = UsageShipper(server, placement, keepers, measured)
        self._requests = requests

    @property
    def log_bytes(self) -> int:
        return sum(one.log_bytes for one in self._logs)

    async def run(self) -> None:
        """Send whatever appears, forever; cancel it and call `finish` when the log is complete."""
        async with asyncio.TaskGroup() as together:
            for one in self._logs:
                together.create_task(one.run())
            together.create_task(self._run_usage())
            if self._requests is not None:
                together.create_task(self._requests.run())

    async def finish(self) -> None:
        """Ship the rest of the logs, however long the server is away, until no crash of a server can lose any of it;
        and of the samples what it takes."""
        for one in self._logs:
            await one.finish()
        while await self._usage.ship() > 0:
            pass

    async def take_requests(self) -> None:
        """Once a router has ended: nothing of its request log is left with it, whether the server is there or not."""
        if self._requests is not None:
            await self._requests.finish()

    async def _run_usage(self) -> None:
        while not any(one.is_refused for one in self._logs):
            await asyncio.sleep(USAGE_SECONDS)
            await self._usage.ship()


class LogShipper:
    """Sends one log."""

    def __init__(self, server: Server, placement: str, directory: Path, *, rank: int, adopted: bool) -> None:
        self._server = server
        self._placement = placement
        self._rank = rank
        self._file = LogFile(directory)
        # After a restart of the agent only the server knows how far it is; it tells when asked with nothing.
        self._offset: int | None = None if adopted else 0
        self._durable = 0
        self._refused = False
        self._backoff = Backoff()

    @property
    def log_bytes(self) -> int:
        return self._file.size

    @property
    def is_refused(self) -> bool:
        return self._refused

    async def run(self) -> None:
        pause = LOOK_SECONDS
        while not self._refused:
            shipped = await self._ship_log(ended=False)
            pause = LOOK_SECONDS if shipped else min(QUIET_SECONDS, pause * 1.5)
            await asyncio.sleep(pause)

    async def finish(self) -> None:
        while not self._refused and await self._ship_log(ended=True) > 0:
            pass
        while not self._refused and (self._offset or 0) > self._durable:
            await self._put(Taken(self._offset or 0, b""), durable=True)
            await self._ship_log(ended=True)

    async def _ship_log(self, *, ended: bool) -> int:
        """Send what there is; return the number of bytes."""
        if self._offset is None:
            await self._put(Taken(0, b""), durable=False)
        shipped = 0
        while not self._refused and (taken := self._file.take(self._offset or 0, BATCH_BYTES, ended=ended)):
            before = self._offset or 0
            last = ended and taken.offset + len(taken.data) >= self._file.size
            await self._put(taken, durable=last)
            if (self._offset or 0) <= before:
                await asyncio.sleep(self._backoff.next())  # the server takes nothing more at the moment
            shipped += max(1, len(taken.data))
        return shipped

    async def _put(self, taken: Taken, *, durable: bool) -> None:
        """Send these bytes, retrying; return the server's offset."""
        while not self._refused:
            try:
                answer = await self._server.put_log(self._placement, taken, rank=self._rank, durable=durable)
                self._offset, self._durable = answer.offset, answer.durable
                self._backoff.reset()
                return
            except (NotFound, StalePlacement) as error:
                log.info("log refused: placement=%s rank=%d %s", self._placement, self._rank, error.message)
                self._refused = True
            except MillError as error:
                # Whatever else is wrong may be mended: what a job wrote is never given up.
                log.warning("log waits: placement=%s %s", self._placement, error.message)
                await asyncio.sleep(self._backoff.next())
