"""Bringing a placement's log and usage samples to the server: by offset, so nothing is lost or doubled."""

from __future__ import annotations

import asyncio
import json
import logging
from datetime import UTC, datetime
from pathlib import Path

from millpond.agent.backoff import Backoff
from millpond.agent.server import Server
from millpond.errors import MillError, NotFound, StalePlacement
from millpond.wire.agent import UsageBatch, UsageSample

log = logging.getLogger(__name__)

BATCH_BYTES = 1 << 20
BATCH_SAMPLES = 500
# How often the files are looked at while the command runs.
LOOK_SECONDS = 0.1


class Shipper:
    """Ships one placement's files until `finish`. A server that does not want them any more ends it quietly."""

    def __init__(self, server: Server, placement: str, directory: Path, *, adopted: bool) -> None:
        self._server = server
        self._placement = placement
        self._log = directory / "log"
        self._usage = directory / "usage.jsonl"
        # After a restart of the agent only the server knows how far it is; it tells when asked with nothing.
        self._log_offset: int | None = None if adopted else 0
        self._usage_offset = 0
        self._refused = False
        self._backoff = Backoff()

    @property
    def log_bytes(self) -> int:
        return _size(self._log)

    async def run(self) -> None:
        """Ship whatever appears, for ever; cancel it and call `finish` when nothing more will be written."""
        while not self._refused:
            await self._ship_log()
            await self._ship_usage()
            await asyncio.sleep(LOOK_SECONDS)

    async def finish(self) -> None:
        """Ship the rest of the log, however long the server is away, and of the samples what it takes."""
        while not self._refused and await self._ship_log() + await self._ship_usage() > 0:
            pass

    async def _ship_log(self) -> int:
        """Ship all there is; how many bytes that was."""
        offset = self._log_offset
        if offset is None:
            offset = await self._put_log(0, b"")
        shipped = 0
        while not self._refused and (data := _read(self._log, offset, BATCH_BYTES)):
            reached = await self._put_log(offset, data)
            if reached <= offset:
                await self._backoff.wait()  # the server takes nothing more at the moment
            shipped += len(data)
            offset = reached
        return shipped

    async def _put_log(self, offset: int, data: bytes) -> int:
        """How far the server is after these bytes, however long it takes to tell it."""
        while not self._refused:
            try:
                self._log_offset = await self._server.put_log(self._placement, offset, data)
                self._backoff.reset()
                return self._log_offset
            except (NotFound, StalePlacement) as error:
                log.info("shipping ended: placement=%s %s", self._placement, error.message)
                self._refused = True
            except MillError as error:
                # Whatever else is wrong may be mended: what a job wrote is never given up.
                log.warning("shipping waits: placement=%s %s", self._placement, error.message)
                await self._backoff.wait()
        return offset

    async def _ship_usage(self) -> int:
        """Ship the samples there are; how many that was. Some that the server does not take are no reason to wait."""
        data = _read(self._usage, self._usage_offset, BATCH_BYTES)
        lines = data[: data.rfind(b"\n") + 1].splitlines(keepends=True)[:BATCH_SAMPLES]
        if not lines or self._refused:
            return 0
        try:
            await self._server.post_usage(self._placement, UsageBatch(samples=[_sample(line) for line in lines]))
        except MillError as error:
            if error.transient:
                return 0
            log.warning("usage not wanted: placement=%s %s", self._placement, error.message)
        self._usage_offset += sum(len(line) for line in lines)
        return len(lines)


def _sample(line: bytes) -> UsageSample:
    fields = json.loads(line)
    return UsageSample(**{**fields, "at": datetime.fromtimestamp(fields["at"], UTC)})


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _read(path: Path, offset: int, limit: int) -> bytes:
    """Bytes of the file from `offset`; nothing when it is no longer than that, or not there."""
    if _size(path) <= offset:
        return b""
    with open(path, "rb") as file:
        file.seek(offset)
        return file.read(limit)
