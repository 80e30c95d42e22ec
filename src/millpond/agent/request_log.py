"""Sends the request log of a router to the server, file by file; each waits on disk until the server has it.

The router's configuration says when files may leave the site, how fast, and for how long they wait at most
(`decide/endpoints/log_rules.py`). It lies on disk, so the rules hold as well while the server is away.

The files are the job's: they are read without following links, and one that cannot be sent is removed.
"""

from __future__ import annotations

import asyncio
import logging
import os
import stat
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

from millpond.agent import service_folder
from millpond.agent.server import Server
from millpond.agent.service_folder import SERVICE
from millpond.decide.endpoints.log_rules import LogRules, rules_of
from millpond.errors import MillError, StalePlacement
from millpond.lake.throttle import TokenBucket
from millpond.retry import Backoff, may_pass

log = logging.getLogger(__name__)

FOLDER = "log"
CLOSED = ".jsonl"
OPEN = ".jsonl.open"
LOOK_SECONDS = 5.0
_MOST_BYTES = 64 << 20
# How soon whoever waits for bytes notices another rate.
_PACE_SECONDS = 0.5
# Less is what is left over when numbers are rounded.
_TINY_SECONDS = 1e-4


class RequestLogShipper:
    """Of one placement; one that is no router has nothing to send. Stops quietly if the server refuses it."""

    def __init__(
        self,
        server: Server,
        placement: str,
        directory: Path,
        *,
        clock: Callable[[], float] = time.time,
        bucket: TokenBucket | None = None,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._server = server
        self._placement = placement
        self._directory = directory
        self._clock, self._pause = clock, pause
        self._bucket = bucket or TokenBucket()
        self._folder = directory / SERVICE / FOLDER
        self._refused = False
        self._backoff = Backoff()

    async def run(self) -> None:
        """Send files as the router closes them, forever."""
        while not self._refused:
            await self._send_all((CLOSED,))
            await asyncio.sleep(LOOK_SECONDS)

    async def finish(self) -> None:
        """Send what is left once the router has ended, also the file it had open, however long the server is away.

        At once and as fast as it goes: until then the site has no other router.
        """
        await self._send_all((CLOSED, OPEN), at_once=True)

    async def _send_all(self, endings: tuple[str, ...], *, at_once: bool = False) -> None:
        """All that may leave now; what has waited for too long is removed."""
        rules = await asyncio.to_thread(self._look)
        for path in await asyncio.to_thread(self._files, endings):
            while not self._refused:
                if not at_once and not rules.is_open(datetime.fromtimestamp(self._clock(), UTC)):
                    return
                if await self._send(path, None if at_once else rules.bytes_per_second):
                    break
                await self._pause(self._backoff.next())
                rules = await asyncio.to_thread(self._look)

    def _look(self) -> LogRules:
        """What holds now, after what it says is too old was removed."""
        rules = rules_of(service_folder.router_config(self._directory))
        if rules.keep_seconds is not None:
            for path in self._files((CLOSED,)):
                if self._clock() - _written_at(path) > rules.keep_seconds:
                    log.warning("request log is too old, removed: placement=%s file=%s", self._placement, path.name)
                    _remove(path)
        return rules

    def _files(self, endings: tuple[str, ...]) -> list[Path]:
        try:
            return sorted(path for path in self._folder.iterdir() if path.name.endswith(endings))
        except OSError:
            return []

    async def _pace(self, size: int) -> None:
        """Wait until so many bytes may go."""
        place = self._bucket.ask(size)
        while (left := self._bucket.seconds_until(place)) > _TINY_SECONDS:
            await self._pause(min(left, _PACE_SECONDS))

    async def _send(self, path: Path, bytes_per_second: float | None) -> bool:
        """True once nothing is left to do with this file."""
        content = await asyncio.to_thread(_read, path)
        try:
            if content:
                self._bucket.set_rate(bytes_per_second)
                pace = self._pace if bytes_per_second else None
                await self._server.post_request_log(self._placement, content, pace=pace)
        except StalePlacement:
            self._refused = True
            return True
        except MillError as error:
            if may_pass(error):
                return False
            log.warning("request log refused: placement=%s file=%s %s", self._placement, path.name, error.message)
        await asyncio.to_thread(_remove, path)
        self._backoff.reset()
        return True


def _read(path: Path) -> bytes | None:
    """None for what is no plain file, or too long."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _MOST_BYTES:
            return None
        return file.read(_MOST_BYTES)


def _written_at(path: Path) -> float:
    try:
        return path.lstat().st_mtime
    except OSError:
        return float("inf")


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        log.warning("cannot remove a request log: file=%s %s", path.name, error)
