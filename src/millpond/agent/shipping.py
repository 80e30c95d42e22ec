"""Bringing a placement's log and usage samples to the server: by offset, so nothing is lost or doubled.

Both wait on the disk while the server is away; the keeper bounds what the log takes there.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from pydantic import ValidationError

from millpond.agent.backoff import Backoff
from millpond.agent.log_file import LogFile, Taken
from millpond.agent.server import Server
from millpond.errors import MillError, NotFound, StalePlacement
from millpond.wire.agent import UsageBatch, UsageSample

log = logging.getLogger(__name__)

BATCH_BYTES = 4 << 20
BATCH_SAMPLES = 500
# How often the files are looked at while the command runs: at once when it writes, less often when it is silent.
LOOK_SECONDS = 0.1
QUIET_SECONDS = 0.4
USAGE_SECONDS = 1.0


class Shipper:
    """Ships one placement's files until `finish`. A server that does not want them any more ends it quietly."""

    def __init__(
        self,
        server: Server,
        placement: str,
        directory: Path,
        *,
        adopted: bool,
        measured: Callable[[], dict[str, float]] = dict,
    ) -> None:
        self._server = server
        self._placement = placement
        self._file = LogFile(directory)
        self._usage = directory / "usage.jsonl"
        # After a restart of the agent only the server knows how far it is; it tells when asked with nothing.
        self._offset: int | None = None if adopted else 0
        self._durable = 0
        self._usage_offset = 0
        # What the agent itself can measure of the job at this moment: its GPUs.
        self._measured = measured
        self._refused = False
        self._backoff = Backoff()

    @property
    def log_bytes(self) -> int:
        return self._file.size

    async def run(self) -> None:
        """Ship whatever appears, for ever; cancel it and call `finish` when nothing more will be written."""
        clock = asyncio.get_running_loop().time
        pause, usage_at = LOOK_SECONDS, clock()
        while not self._refused:
            shipped = await self._ship_log(ended=False)
            if clock() >= usage_at:
                await self._ship_usage()
                usage_at = clock() + USAGE_SECONDS
            pause = LOOK_SECONDS if shipped else min(QUIET_SECONDS, pause * 1.5)
            await asyncio.sleep(pause)

    async def finish(self) -> None:
        """Ship the rest of the log, however long the server is away, until no crash of a server can lose any of it;
        and of the samples what it takes."""
        while not self._refused and await self._ship_log(ended=True) + await self._ship_usage() > 0:
            pass
        while not self._refused and (self._offset or 0) > self._durable:
            await self._put(Taken(self._offset or 0, b""), durable=True)
            await self._ship_log(ended=True)

    async def _ship_log(self, *, ended: bool) -> int:
        """Ship all there is; how many bytes that was."""
        if self._offset is None:
            await self._put(Taken(0, b""), durable=False)
        shipped = 0
        while not self._refused and (taken := self._file.take(self._offset or 0, BATCH_BYTES, ended=ended)):
            before = self._offset or 0
            last = ended and taken.offset + len(taken.data) >= self._file.size
            await self._put(taken, durable=last)
            if (self._offset or 0) <= before:
                await self._backoff.wait()  # the server takes nothing more at the moment
            shipped += max(1, len(taken.data))
        return shipped

    async def _put(self, taken: Taken, *, durable: bool) -> None:
        """Tell the server these bytes, however long that takes, and hear how far it is."""
        while not self._refused:
            try:
                answer = await self._server.put_log(self._placement, taken, durable=durable)
                self._offset, self._durable = answer.offset, answer.durable
                self._backoff.reset()
                return
            except (NotFound, StalePlacement) as error:
                log.info("shipping ended: placement=%s %s", self._placement, error.message)
                self._refused = True
            except MillError as error:
                # Whatever else is wrong may be mended: what a job wrote is never given up.
                log.warning("shipping waits: placement=%s %s", self._placement, error.message)
                await self._backoff.wait()

    async def _ship_usage(self) -> int:
        """Ship the samples there are; how many that was. Some that the server does not take are no reason to wait."""
        data = _read(self._usage, self._usage_offset, BATCH_BYTES)
        lines = data[: data.rfind(b"\n") + 1].splitlines(keepends=True)[:BATCH_SAMPLES]
        if not lines or self._refused:
            return 0
        samples = [sample for line in lines if (sample := _sample(line))]
        if samples:
            samples[-1] = samples[-1].model_copy(update=self._measured())
        try:
            await self._server.post_usage(self._placement, UsageBatch(samples=samples))
        except MillError as error:
            if error.transient:
                return 0
            log.warning("usage not wanted: placement=%s %s", self._placement, error.message)
        self._usage_offset += sum(len(line) for line in lines)
        return len(lines)


def _sample(line: bytes) -> UsageSample | None:
    """None for a line that a full disk cut short."""
    try:
        fields = json.loads(line)
        return UsageSample(**{**fields, "at": datetime.fromtimestamp(fields["at"], UTC)})
    except (ValueError, ValidationError, TypeError, KeyError):
        log.warning("a usage sample cannot be read: %r", line[:100])
        return None


def _read(path: Path, offset: int, limit: int) -> bytes:
    """Bytes of the file from `offset`; nothing when it is no longer than that, or not there."""
    try:
        with open(path, "rb") as file:
            file.seek(offset)
            return file.read(limit)
    except FileNotFoundError:
        return b""
