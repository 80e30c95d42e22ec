"""Sends request logs that wait at a site to the server, each endpoint's by its own rules.

They say when files may leave the site, how fast, and for how long they wait at most (`decide/endpoints/log_rules.py`).
They lie beside the files, so they hold as well while the server is away and after the router has ended.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

from millpond.agent.log_archive import ArchiveFolder, LogArchive, read_file, remove_file, written_at
from millpond.agent.server import Server
from millpond.decide.endpoints.log_rules import LogRules
from millpond.errors import MillError, NotFound
from millpond.lake.throttle import TokenBucket
from millpond.retry import Backoff, may_pass

log = logging.getLogger(__name__)

LOOK_SECONDS = 5.0
# How soon whoever waits for bytes notices another rate.
_PACE_SECONDS = 0.5
# Less is what is left over when numbers are rounded.
_TINY_SECONDS = 1e-4


class LogSender:
    """Of one agent: each endpoint's files are sent one after the other, beside those of others."""

    def __init__(
        self,
        server: Server,
        archive: LogArchive,
        *,
        clock: Callable[[], float] = time.time,
        new_bucket: Callable[[], TokenBucket] = TokenBucket,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._server, self._archive = server, archive
        self._clock, self._pause = clock, pause
        self._new_bucket = new_bucket
        self._buckets: dict[str, TokenBucket] = {}
        self._sending: dict[Path, asyncio.Task[None]] = {}
        # What waits on volumes, by their ids, as it was looked at last.
        self._waiting: dict[str, int] = {}

    async def run(self) -> None:
        """Send what may leave, forever."""
        while True:
            await asyncio.to_thread(self._settle)
            for folder in await asyncio.to_thread(self._archive.to_send):
                known = self._sending.get(folder.path)
                if known is None or known.done():
                    self._sending[folder.path] = asyncio.create_task(self.send(folder), name=f"send {folder.path.name}")
            self._waiting = await asyncio.to_thread(self._archive.bytes_by_volume)
            await asyncio.sleep(LOOK_SECONDS)

    def _settle(self) -> None:
        try:
            self._archive.settle()
        except OSError as error:
            log.warning("request logs stay on the agent's disk: %s", error)

    def bytes_on(self, volume_id: str) -> int:
        """What waits on a volume: it is no room for commits."""
        return self._waiting.get(volume_id, 0)

    def end(self) -> None:
        for task in self._sending.values():
            task.cancel()

    async def send(self, folder: ArchiveFolder) -> None:
        """All of an endpoint that may leave now; what has waited for too long is removed."""
        backoff = Backoff()
        rules = await asyncio.to_thread(self._look, folder)
        for path in await asyncio.to_thread(folder.files):
            while rules.is_open(datetime.fromtimestamp(self._clock(), UTC)) and path.exists():
                if await self._send(folder, path, rules.bytes_per_second):
                    break
                await self._pause(backoff.next())
                rules = await asyncio.to_thread(self._look, folder)

    def _look(self, folder: ArchiveFolder) -> LogRules:
        """What holds now, after what it says is too old was removed."""
        rules = folder.rules()
        for path in folder.files() if rules.keep_seconds is not None else ():
            if self._clock() - written_at(path) > (rules.keep_seconds or 0):
                log.warning("request log is too old, removed: endpoint=%s file=%s", folder.endpoint_id, path.name)
                remove_file(path)
        return rules

    async def _send(self, folder: ArchiveFolder, path: Path, bytes_per_second: float | None) -> bool:
        """True once nothing is left to do with this file."""
        content = await asyncio.to_thread(read_file, path)
        try:
            if content:
                pace = self._pace(folder, bytes_per_second) if bytes_per_second else None
                await self._server.post_request_log(folder.endpoint_id, content, pace=pace)
        except NotFound:
            log.warning("request log of an endpoint that is gone, removed: endpoint=%s", folder.endpoint_id)
            await asyncio.to_thread(folder.remove)
            return True
        except MillError as error:
            if may_pass(error):
                return False
            log.warning("request log refused: endpoint=%s file=%s %s", folder.endpoint_id, path.name, error.message)
        await asyncio.to_thread(remove_file, path)
        return True

    def _pace(self, folder: ArchiveFolder, bytes_per_second: float) -> Callable[[int], Awaitable[None]]:
        bucket = self._buckets.setdefault(folder.endpoint_id, self._new_bucket())
        bucket.set_rate(bytes_per_second)

        async def pace(size: int) -> None:
            """Wait until so many bytes may go."""
            place = bucket.ask(size)
            while (left := bucket.seconds_until(place)) > _TINY_SECONDS:
                await self._pause(min(left, _PACE_SECONDS))

        return pace
