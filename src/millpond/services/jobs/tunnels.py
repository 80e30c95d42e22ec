"""Streams between users and running jobs, joined in the memory of one server.

docs/design/011-tunnels.md has the messages. A tunnel waits until the agent that runs the job connects.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from millpond.errors import NotReady
from millpond.model.ids import new_id
from millpond.wire.desired import DesiredTunnel

# An agent hears of it at once; opening a connection through a slow proxy takes longer.
COME_SECONDS = 15.0


class Socket(Protocol):
    """One end of a stream of messages: text or bytes."""

    async def receive(self) -> str | bytes | None:
        """The next message; None if the other end is gone."""
        ...

    async def send(self, message: str | bytes) -> None:
        """Returns when there is room for more. Ignored if the other end is gone."""
        ...


@dataclass(eq=False)
class Tunnel:
    """One stream. Use it in the event loop that created it."""

    agent_id: str
    wanted: DesiredTunnel
    _agent: asyncio.Future[Socket] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    _over: asyncio.Event = field(default_factory=asyncio.Event)

    async def agent(self) -> Socket:
        """The agent's end. Raises NotReady if the agent does not connect."""
        try:
            return await asyncio.wait_for(asyncio.shield(self._agent), COME_SECONDS)
        except TimeoutError:
            raise NotReady(
                "The agent that runs the job did not connect.",
                hint="Check that it is connected: mill compute list",
            ) from None

    async def serve(self, socket: Socket) -> None:
        """Hand over the agent's end; return when the stream is closed."""
        self._agent.set_result(socket)
        await self._over.wait()

    def end(self) -> None:
        self._over.set()


class Tunnels:
    """Streams that wait for their agent. Read from any thread, changed in the event loop."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[str, Tunnel] = {}

    def open(self, agent_id: str, wanted: DesiredTunnel) -> Tunnel:
        tunnel = Tunnel(agent_id, wanted)
        with self._lock:
            self._waiting[wanted.id] = tunnel
        return tunnel

    def waiting_for(self, agent_id: str) -> list[DesiredTunnel]:
        with self._lock:
            found = [tunnel.wanted for tunnel in self._waiting.values() if tunnel.agent_id == agent_id]
        return sorted(found, key=lambda one: one.id)

    def take(self, tunnel_id: str, agent_id: str) -> Tunnel | None:
        """Remove and return the tunnel that this agent asks for."""
        with self._lock:
            found = self._waiting.get(tunnel_id)
            if found is None or found.agent_id != agent_id:
                return None
            return self._waiting.pop(tunnel_id)

    def forget(self, tunnel: Tunnel) -> None:
        tunnel.end()
        with self._lock:
            self._waiting.pop(tunnel.wanted.id, None)


async def relay(one: Socket, other: Socket) -> None:
    """Forward messages in both directions until either end is gone."""
    await until_one_ends(_pass_on(one, other), _pass_on(other, one))


async def until_one_ends(*works: Coroutine[object, object, None]) -> None:
    """Run them concurrently; when one ends or fails, cancel the others."""
    running = [asyncio.ensure_future(work) for work in works]
    try:
        await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


async def _pass_on(source: Socket, target: Socket) -> None:
    while (message := await source.receive()) is not None:
        await target.send(message)


def exec_wanted(
    placement_id: str, rank: int, command: Sequence[str], *, tty: bool, columns: int, rows: int
) -> DesiredTunnel:
    return DesiredTunnel(
        id=new_id(), placement_id=placement_id, kind="exec", rank=rank,
        command=list(command), tty=tty, columns=columns, rows=rows,
    )  # fmt: skip


def port_wanted(placement_id: str, port: int, *, rank: int = 0) -> DesiredTunnel:
    return DesiredTunnel(id=new_id(), placement_id=placement_id, kind="port", rank=rank, port=port)
