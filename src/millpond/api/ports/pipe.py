"""Connections to a port of a job, each a tunnel through the job's agent; those that rest are used again."""

from __future__ import annotations

import asyncio
import json
import time
from collections import defaultdict
from collections.abc import Hashable

from starlette.concurrency import run_in_threadpool

from millpond.errors import MillError, Unavailable, by_code
from millpond.services.deps import Deps
from millpond.services.jobs import job_ports, tunnel_calls
from millpond.services.jobs.job_ports import Opened
from millpond.services.jobs.job_streams import StreamTarget
from millpond.services.jobs.tunnels import Socket, Tunnel

# What listens in the job may close a connection that rests; most do so after a minute at the earliest.
REST_SECONDS = 10.0


class Pipe:
    """Bytes to and from the job."""

    def __init__(self, deps: Deps, tunnel: Tunnel, socket: Socket) -> None:
        self._deps = deps
        self._tunnel = tunnel
        self._socket = socket
        self.rested_at = 0.0

    @property
    def placement_id(self) -> str:
        return self._tunnel.wanted.placement_id

    async def read(self) -> bytes:
        """What comes next; nothing at the end."""
        while (message := await self._socket.receive()) is not None:
            if isinstance(message, bytes):
                return message
            _check(message)
        return b""

    async def write(self, data: bytes | None) -> None:
        if data:
            await self._socket.send(data)

    def close(self) -> None:
        self._deps.tunnels.forget(self._tunnel)


async def open_pipe(deps: Deps, target: StreamTarget) -> Pipe:
    """Raises MillError where the agent does not come, or the job does not listen."""
    tunnel = deps.tunnels.open(target.agent_id, target.wanted)
    try:
        await run_in_threadpool(tunnel_calls.call, deps, tunnel)
        socket = await tunnel.agent()
        first = await socket.receive()
        if not isinstance(first, str):
            raise Unavailable("The agent of the job disconnected.")
        _check(first)
    except BaseException:
        deps.tunnels.forget(tunnel)
        raise
    return Pipe(deps, tunnel, socket)


class Pipes:
    """Opens connections. One that is given back while both ends wait for a request is used for the next one."""

    def __init__(self, deps: Deps) -> None:
        self._deps = deps
        self._resting: dict[Hashable, list[Pipe]] = defaultdict(list)

    async def open(self, opened: Opened, *, fresh: bool = False) -> Pipe:
        """Raises MillError where the person may not, or the job does not listen."""
        target = await run_in_threadpool(job_ports.target, self._deps, opened)
        key = (opened, target.wanted.placement_id)
        if not fresh and (pipe := self._take(key)) is not None:
            return pipe
        return await open_pipe(self._deps, target)

    def rest(self, opened: Opened, pipe: Pipe) -> None:
        pipe.rested_at = time.monotonic()
        key = (opened, pipe.placement_id)
        self._resting[key].append(pipe)
        asyncio.get_running_loop().call_later(REST_SECONDS, self._let_go, key, pipe)

    def _take(self, key: Hashable) -> Pipe | None:
        while self._resting[key]:
            pipe = self._resting[key].pop()
            if time.monotonic() < pipe.rested_at + REST_SECONDS:
                return pipe
            pipe.close()
        return None

    def _let_go(self, key: Hashable, pipe: Pipe) -> None:
        if pipe in self._resting[key] and time.monotonic() >= pipe.rested_at + REST_SECONDS:
            self._resting[key].remove(pipe)
            pipe.close()
        if not self._resting[key]:
            del self._resting[key]


def _check(message: str) -> None:
    problem = json.loads(message).get("problem")
    if problem is not None:
        error: MillError = by_code(problem.get("code", ""))(problem.get("detail", ""), hint=problem.get("hint"))
        raise error
