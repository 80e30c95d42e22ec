"""Sends the request log of a router to the server, file by file; each waits on disk until the server has it.

The files are the job's: they are read without following links, and one that cannot be sent is removed.
"""

from __future__ import annotations

import asyncio
import logging
import os
import stat
from pathlib import Path

from millpond.agent.server import Server
from millpond.agent.service_folder import SERVICE
from millpond.errors import MillError, StalePlacement
from millpond.retry import Backoff, may_pass

log = logging.getLogger(__name__)

FOLDER = "log"
CLOSED = ".jsonl"
OPEN = ".jsonl.open"
LOOK_SECONDS = 5.0
_MOST_BYTES = 64 << 20


class RequestLogShipper:
    """Of one placement; one that is no router has nothing to send. Stops quietly if the server refuses it."""

    def __init__(self, server: Server, placement: str, directory: Path) -> None:
        self._server = server
        self._placement = placement
        self._folder = directory / SERVICE / FOLDER
        self._refused = False
        self._backoff = Backoff()

    async def run(self) -> None:
        """Send files as the router closes them, forever."""
        while not self._refused:
            await self._send_all((CLOSED,))
            await asyncio.sleep(LOOK_SECONDS)

    async def finish(self) -> None:
        """Send what is left once the router has ended, also the file it had open, however long the server is away."""
        await self._send_all((CLOSED, OPEN))

    async def _send_all(self, endings: tuple[str, ...]) -> None:
        for path in await asyncio.to_thread(self._files, endings):
            while not self._refused and not await self._send(path):
                await asyncio.sleep(self._backoff.next())

    def _files(self, endings: tuple[str, ...]) -> list[Path]:
        try:
            return sorted(path for path in self._folder.iterdir() if path.name.endswith(endings))
        except OSError:
            return []

    async def _send(self, path: Path) -> bool:
        """True once nothing is left to do with this file."""
        content = await asyncio.to_thread(_read, path)
        try:
            if content:
                await self._server.post_request_log(self._placement, content)
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


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        log.warning("cannot remove a request log: file=%s %s", path.name, error)
