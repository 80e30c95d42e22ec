"""Connections to one replica: HTTP/1.1 with keep-alive over a Unix socket or TCP, one request at a time on each.

Answers are read whole, so a client never sees half of one: until it is whole, the request may be sent elsewhere.
"""

from __future__ import annotations

import asyncio
from typing import Any, Protocol

import httptools

from ..http.message import Headers

MIB = 1024 * 1024
_MOST_ANSWER_BYTES = 512 * MIB
_MOST_HEADERS = 256
_MOST_IDLE = 64
_IDLE_SECONDS = 60.0
CONNECT_SECONDS = 5.0


class ReplicaLost(Exception):
    """The replica cannot be reached or closed the connection before its answer was whole. The client saw nothing of it.

    `sent` is False where the replica never got the request.
    """

    def __init__(self, text: str, *, sent: bool = True) -> None:
        super().__init__(text)
        self.sent = sent


class ReplicaMisbehaved(Exception):
    """The replica answered something that is not HTTP, or too much of it."""


class ReplicaSlow(Exception):
    """The replica did not answer in time."""


class UpstreamAnswer:
    """Status, headers (names in lower case) and the whole body."""

    __slots__ = ("body", "headers", "status")

    def __init__(self, status: int, headers: Headers, body: list[bytes]) -> None:
        self.status = status
        self.headers = headers
        self.body = body


class Waiter(Protocol):
    """Who waits for an answer: exactly one of the two is called, in the event loop."""

    def answered(self, answer: UpstreamAnswer) -> None: ...

    def failed(self, error: Exception) -> None: ...


class Upstream:
    """The connections to one address (`unix:/path` or `tcp:host:port`)."""

    def __init__(self, address: str, *, answer_seconds: float) -> None:
        self.address = address
        self._answer_seconds = answer_seconds
        self._loop = asyncio.get_running_loop()
        self._idle: list[_Connection] = []
        self._busy: set[_Connection] = set()
        self._connecting: set[asyncio.Task[None]] = set()

    def send(self, parts: list[bytes], waiter: Waiter, *, seconds: float | None = None) -> None:
        """Send a request, head and body in `parts`, on an idle connection or a new one."""
        deadline = self._loop.time() + (seconds or self._answer_seconds)
        while self._idle:
            connection = self._idle.pop()
            if connection.is_open:
                self._busy.add(connection)
                connection.begin(parts, waiter, deadline)
                return
        task = self._loop.create_task(self._connect_and_send(parts, waiter, deadline))
        self._connecting.add(task)
        task.add_done_callback(self._connecting.discard)

    async def _connect_and_send(self, parts: list[bytes], waiter: Waiter, deadline: float) -> None:
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                connection = await self._connect()
        except (OSError, TimeoutError) as error:
            waiter.failed(ReplicaLost(f"cannot connect to {self.address}: {error or 'no answer in time'}", sent=False))
            return
        self._busy.add(connection)
        connection.begin(parts, waiter, deadline)

    async def _connect(self) -> _Connection:
        kind, _, rest = self.address.partition(":")
        if kind == "unix":
            return (await self._loop.create_unix_connection(lambda: _Connection(self), rest))[1]
        host, _, port = rest.rpartition(":")
        return (await self._loop.create_connection(lambda: _Connection(self), host.strip("[]"), int(port)))[1]

    def finished(self, connection: _Connection, *, reusable: bool) -> None:
        self._busy.discard(connection)
        if reusable and len(self._idle) < _MOST_IDLE:
            connection.deadline = self._loop.time() + _IDLE_SECONDS
            self._idle.append(connection)
        else:
            connection.close()

    def sweep(self, now: float) -> None:
        """Give up requests that took too long, close connections that nobody used; called about once a second."""
        for connection in [one for one in self._busy if one.deadline <= now]:
            connection.expire()
        for connection in [one for one in self._idle if one.deadline <= now or not one.is_open]:
            self._idle.remove(connection)
            connection.close()

    def close(self, *, at_once: bool = False) -> None:
        """Close what is idle. Requests under way still get their answers, unless it is to be at once."""
        while self._idle:
            self._idle.pop().close()
        if at_once:
            for connection in list(self._busy):
                connection.close()


class _Connection(asyncio.Protocol):
    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream
        self._transport: Any = None
        self._waiter: Waiter | None = None
        self._parser: Any = httptools.HttpResponseParser(self)
        self._headers: Headers = []
        self._body: list[bytes] = []
        self._bytes = 0
        self.deadline = 0.0
        self.is_open = True

    def begin(self, parts: list[bytes], waiter: Waiter, deadline: float) -> None:
        self._waiter = waiter
        self.deadline = deadline
        if not self.is_open:
            self._fail(ReplicaLost("the connection was closed", sent=False))
        elif len(parts) == 1:
            self._transport.write(parts[0])
        else:
            self._transport.writelines(parts)

    def expire(self) -> None:
        self._fail(ReplicaSlow(f"{self._upstream.address} did not answer in time"))

    def close(self) -> None:
        self.is_open = False
        if self._transport is not None:
            self._transport.close()

    # Called by the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if self._waiter is None:
            # Nobody asked: whatever it is, the next answer could be mistaken for it.
            self.close()
            return
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._fail(ReplicaMisbehaved(f"{self._upstream.address} answered what is not HTTP: {error}"))

    def connection_lost(self, error: Exception | None) -> None:
        self.is_open = False
        if self._waiter is not None:
            self._fail(ReplicaLost(f"{self._upstream.address} closed the connection: {error or 'end of file'}"))

    # Called by the parser

    def on_message_begin(self) -> None:
        if self._waiter is None:
            raise ReplicaMisbehaved("more than one answer")
        self._headers = []
        self._body = []
        self._bytes = 0

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.append((name.lower(), value))
        if len(self._headers) > _MOST_HEADERS:
            raise ReplicaMisbehaved("too many headers")

    def on_body(self, data: bytes) -> None:
        self._body.append(data)
        self._bytes += len(data)
        if self._bytes > _MOST_ANSWER_BYTES:
            raise ReplicaMisbehaved("too long an answer")

    def on_message_complete(self) -> None:
        status = self._parser.get_status_code()
        if status < 200 or self._waiter is None:
            return
        waiter, self._waiter = self._waiter, None
        answer = UpstreamAnswer(status, self._headers, self._body)
        self._upstream.finished(self, reusable=self._parser.should_keep_alive())
        waiter.answered(answer)

    def _fail(self, error: Exception) -> None:
        waiter, self._waiter = self._waiter, None
        self._upstream.finished(self, reusable=False)
        if waiter is not None:
            waiter.failed(error)


class FutureWaiter:
    """A waiter that is a future, for the few callers that wait for one answer at leisure."""

    def __init__(self) -> None:
        self.future: asyncio.Future[UpstreamAnswer] = asyncio.get_running_loop().create_future()

    def answered(self, answer: UpstreamAnswer) -> None:
        if not self.future.done():
            self.future.set_result(answer)

    def failed(self, error: Exception) -> None:
        if not self.future.done():
            self.future.set_exception(error)


async def ask(upstream: Upstream, parts: list[bytes], *, seconds: float | None = None) -> UpstreamAnswer:
    """Send a request and wait for its answer; ReplicaLost, ReplicaMisbehaved or ReplicaSlow."""
    waiter = FutureWaiter()
    upstream.send(parts, waiter, seconds=seconds)
    return await waiter.future
