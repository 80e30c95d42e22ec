"""Agents that speak the real protocol and run nothing: each job takes a moment, says something in its log and succeeds.

    async with simulated_agents(url, tokens, state) as agents: ...

What they did is counted, so that a test can tell whether a job was begun twice.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime

from millpond.agent.log_file import Taken
from millpond.agent.server import Server
from millpond.errors import MillError
from millpond.model.ids import new_id
from millpond.wire.agent import PROTOCOL
from millpond.wire.desired import Desired, DesiredPlacement
from millpond.wire.observed import Capabilities, NodeFacts, Observed, PlacementSeen

_REST_SECONDS = 0.2
_WAIT_SECONDS = 20.0
_CPUS = 4
_MEMORY = 16_000_000_000


@dataclass
class Counted:
    """What all of the agents did; jobs by name."""

    begun: Counter[str] = field(default_factory=Counter)
    ended: Counter[str] = field(default_factory=Counter)
    # Exchanges that failed, by what was said: a server that was killed, a balancer without one.
    failures: Counter[str] = field(default_factory=Counter)


class SimulatedAgent:
    """One agent with one node. Its jobs take `job_seconds`."""

    def __init__(self, url: str, token: str, counted: Counted, *, job_seconds: float = 0.2) -> None:
        self._server = Server(url, token)
        self._counted = counted
        self._job_seconds = job_seconds
        self._instance = new_id()
        self._sequence = 0
        self._revision = ""
        self._seen: dict[str, PlacementSeen] = {}
        self._news = asyncio.Event()
        self._jobs: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Until it is cancelled."""
        try:
            while True:
                try:
                    await self._exchange()
                except MillError as error:
                    self._counted.failures[error.code] += 1
                    await asyncio.sleep(_REST_SECONDS)
        finally:
            for job in self._jobs:
                job.cancel()
            await asyncio.gather(*self._jobs, return_exceptions=True)
            await self._server.close()

    async def _exchange(self) -> None:
        """As the real one does: breaks its long poll off when it has news."""
        self._news.clear()
        asking = asyncio.ensure_future(self._server.sync(self._observed()))
        news = asyncio.ensure_future(self._news.wait())
        try:
            await asyncio.wait({asking, news}, return_when=asyncio.FIRST_COMPLETED)
            if asking.done():
                self._take(asking.result())
        finally:
            for task in (asking, news):
                task.cancel()
            await asyncio.gather(asking, news, return_exceptions=True)

    def _observed(self) -> Observed:
        self._sequence += 1
        return Observed(
            protocol=PROTOCOL, version="0", instance=self._instance, boot_id=self._instance, sequence=self._sequence,
            capabilities=Capabilities(shared_trust=False),
            nodes=[NodeFacts(name="node", cpus=_CPUS, memory_bytes=_MEMORY)],
            placements=list(self._seen.values()), seen_revision=self._revision, wait_seconds=_WAIT_SECONDS,
        )  # fmt: skip

    def _take(self, desired: Desired) -> None:
        self._revision = desired.revision
        wanted = {one.id: one for one in desired.placements}
        for gone in self._seen.keys() - wanted.keys():
            del self._seen[gone]
        for one in wanted.values():
            if one.id not in self._seen and one.want == "run":
                self._counted.begun[one.job_name] += 1
                self._seen[one.id] = PlacementSeen(id=one.id, state="running", started_at=datetime.now(UTC))
                job = asyncio.ensure_future(self._job(one))
                self._jobs.add(job)
                job.add_done_callback(self._jobs.discard)

    async def _job(self, wanted: DesiredPlacement) -> None:
        self._news.set()
        await asyncio.sleep(self._job_seconds)
        text = f"{wanted.job_name} is done\n".encode()
        for _ in range(1_000):
            try:
                answer = await self._server.put_log(wanted.id, Taken(0, text), durable=True)
            except MillError as error:
                self._counted.failures[error.code] += 1
                if error.code == "stale_placement":
                    return
                await asyncio.sleep(_REST_SECONDS)
                continue
            assert answer.offset == len(text)
            break
        self._counted.ended[wanted.job_name] += 1
        self._seen[wanted.id] = PlacementSeen(
            id=wanted.id, state="finished", started_at=datetime.now(UTC), exited_at=datetime.now(UTC), exit_code=0,
            log_bytes=len(text),
        )  # fmt: skip
        self._news.set()


async def run_agents(url: str, tokens: Sequence[str], counted: Counted, *, job_seconds: float = 0.2) -> None:
    """All of them, until this is cancelled."""
    with suppress(asyncio.CancelledError):
        await asyncio.gather(*(SimulatedAgent(url, token, counted, job_seconds=job_seconds).run() for token in tokens))
