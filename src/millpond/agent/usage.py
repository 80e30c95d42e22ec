"""Sends samples of a placement's resource usage to the server; for a distributed job, the sum of all ranks."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pydantic import ValidationError

from millpond.agent.server import Server
from millpond.errors import MillError
from millpond.wire.agent import UsageBatch, UsageSample

log = logging.getLogger(__name__)

BATCH_BYTES = 1 << 20
BATCH_SAMPLES = 500
# A rank that has told nothing for so long uses nothing any more.
FRESH = timedelta(seconds=10)


class UsageShipper:
    """Samples wait on disk while the server is unreachable. Refused ones are dropped."""

    def __init__(
        self, server: Server, placement: str, keepers: Sequence[Path], measured: Callable[[], dict[str, float]]
    ) -> None:
        self._server = server
        self._placement = placement
        self._files = [_SampleFile(directory / "usage.jsonl") for directory in keepers]
        # What the agent itself can measure of the job at this moment: its GPUs.
        self._measured = measured

    async def ship(self) -> int:
        """Ship the samples there are; how many that was."""
        found = [file.read() for file in self._files]
        samples = found[0] if len(found) == 1 else _together([file.newest for file in self._files], found)
        lines = sum(file.lines for file in self._files)
        if not lines:
            return 0
        if samples:
            samples[-1] = samples[-1].model_copy(update=self._measured())
        try:
            await self._server.post_usage(self._placement, UsageBatch(samples=samples))
        except MillError as error:
            if error.transient:
                return 0
            log.warning("usage refused: placement=%s %s", self._placement, error.message)
        for file in self._files:
            file.go_on()
        return lines


class _SampleFile:
    """The lines of one keeper, read again until they were taken."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = self._reached = self.lines = 0
        self.newest: UsageSample | None = None

    def read(self) -> list[UsageSample]:
        data = _read(self._path, self._offset, BATCH_BYTES)
        lines = data[: data.rfind(b"\n") + 1].splitlines(keepends=True)[:BATCH_SAMPLES]
        self.lines, self._reached = len(lines), self._offset + sum(len(line) for line in lines)
        samples = [sample for line in lines if (sample := _sample(line))]
        self.newest = samples[-1] if samples else self.newest
        return samples

    def go_on(self) -> None:
        self._offset = self._reached


def _together(newest: Sequence[UsageSample | None], found: Sequence[Sequence[UsageSample]]) -> list[UsageSample]:
    """One sample of all ranks: what each last told. What has ended uses no CPU and no memory, but has read and written.

    The network is that of the machine where it is shared, so it counts once.
    """
    if not any(found):
        return []
    known = [one for one in newest if one is not None]
    at = max(one.at for one in known)
    living = [one for one in known if at - one.at < FRESH]
    over = max if any(one.network_shared for one in known) else sum
    return [
        UsageSample(
            at=at,
            cpu_percent=round(sum(one.cpu_percent for one in living), 1),
            memory_bytes=sum(one.memory_bytes for one in living),
            read_bytes=sum(one.read_bytes for one in known),
            write_bytes=sum(one.write_bytes for one in known),
            received_bytes=over(one.received_bytes or 0 for one in known),
            sent_bytes=over(one.sent_bytes or 0 for one in known),
            network_shared=known[0].network_shared,
        )
    ]


def _sample(line: bytes) -> UsageSample | None:
    """None for a line that a full disk cut short."""
    try:
        fields = json.loads(line)
        return UsageSample(**{**fields, "at": datetime.fromtimestamp(fields["at"], UTC)})
    except (ValueError, ValidationError, TypeError, KeyError):
        log.warning("invalid usage sample: %r", line[:100])
        return None


def _read(path: Path, offset: int, limit: int) -> bytes:
    """Bytes of the file from `offset`; nothing when it is no longer than that, or not there."""
    try:
        with open(path, "rb") as file:
            file.seek(offset)
            return file.read(limit)
    except FileNotFoundError:
        return b""
