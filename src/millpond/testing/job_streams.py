"""Streams to jobs without a server: what a person sends and sees, in memory."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from millpond.agent.drivers import Driver
from millpond.agent.stream import Stream
from millpond.agent.tunnels import AgentTunnels
from millpond.wire.desired import DesiredTunnel

_WITHIN = 120.0


@dataclass
class PersonStream:
    """The agent's end of a stream whose other end is a test. What is `sent` waits until the stream is opened."""

    sent: Sequence[str | bytes] = ()
    texts: list[dict[str, Any]] = field(default_factory=list)
    pieces: list[bytes] = field(default_factory=list)
    over: asyncio.Event = field(default_factory=asyncio.Event)
    _inwards: asyncio.Queue[str | bytes | None] = field(default_factory=asyncio.Queue)

    async def receive(self) -> str | bytes | None:
        return await self._inwards.get()

    async def send(self, message: str | bytes) -> None:
        if isinstance(message, bytes):
            self.pieces.append(message)
            return
        self.texts.append(json.loads(message))
        if self.texts[-1] == {"opened": True}:
            for one in self.sent:
                self._inwards.put_nowait(one)

    async def close(self) -> None:
        self.over.set()

    def leave(self) -> None:
        self._inwards.put_nowait(None)

    def of(self, channel: int) -> bytes:
        """What a command wrote to one of its outputs."""
        return b"".join(piece[1:] for piece in self.pieces if piece[:1] == bytes([channel]))


class Beside:
    """Somebody who opens streams to one placement, through the agent's own tunnels."""

    def __init__(self, driver: Driver, placement: Path) -> None:
        self._driver, self._placement = driver, placement
        self._count = 0

    async def run(self, *, sent: Sequence[str | bytes] = (), **wanted: Any) -> PersonStream:
        """Until it is over."""
        with self.opened(sent=sent, **wanted) as stream:
            if wanted["kind"] == "port":
                # Nobody hangs up on a port but the person, once the job has said all it has to say.
                await asyncio.wait_for(_until_told(stream), _WITHIN)
                stream.leave()
            await asyncio.wait_for(stream.over.wait(), _WITHIN)
        return stream

    @contextmanager
    def opened(self, *, sent: Sequence[str | bytes] = (), **wanted: Any) -> Iterator[PersonStream]:
        stream = PersonStream(sent)

        async def connect(_: DesiredTunnel) -> Stream:
            return stream

        self._count += 1
        tunnel = DesiredTunnel(id=f"t{self._count}", placement_id=self._placement.name, **wanted)
        tunnels = AgentTunnels(self._driver, lambda _: self._placement, connect)
        tunnels.reconcile([tunnel], {self._placement.name})
        yield stream


async def _until_told(stream: PersonStream) -> None:
    """The job's last word is a message without bytes; a problem is one, too."""
    while not (stream.pieces[-1:] == [b""] or any("problem" in text for text in stream.texts)):
        await asyncio.sleep(0.01)
