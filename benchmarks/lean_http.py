"""An HTTP/1.1 client for load: it shares the machine with the servers it measures, so it does as little as it can.

A request takes a tenth of the processor time that httpx needs. Connections are kept; one whose request is cancelled is
closed, as any client does.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

_API = "/api/v1"
_HEAD_BYTES = 1 << 16


class ConnectionLost(OSError):
    """The server closed the connection before its answer was complete."""


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: bytes

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "replace")

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(slots=True)
class _Connection:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    is_new: bool = True


class LeanClient:
    """As many connections as there are requests at once. `timeout` is for one request, in seconds."""

    def __init__(self, url: str, token: str, *, headers: dict[str, str] | None = None, timeout: float = 30.0) -> None:
        parts = urlsplit(url)
        self._host, self._port, self._timeout = parts.hostname or "", parts.port or 80, timeout
        told = {"Host": parts.netloc, "Authorization": f"Bearer {token}", **(headers or {})}
        self._headers = "".join(f"{name}: {value}\r\n" for name, value in told.items())
        self._idle: list[_Connection] = []

    async def get(self, path: str, **params: str) -> Answer:
        return await self.request("GET", path, params=params)

    async def post(self, path: str, body: Any, *, timeout: float | None = None) -> Answer:
        return await self.request("POST", path, body=json.dumps(body).encode(), timeout=timeout)

    async def request(
        self, method: str, path: str, *, params: dict[str, str] | None = None, body: bytes | None = None,
        timeout: float | None = None,
    ) -> Answer:  # fmt: skip
        target = f"{_API}{path}?{urlencode(params)}" if params else f"{_API}{path}"
        length = "" if body is None else f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        asked = f"{method} {target} HTTP/1.1\r\n{self._headers}{length}\r\n".encode() + (body or b"")
        async with asyncio.timeout(timeout or self._timeout):
            while True:
                connection = self._kept() or await self._opened()
                try:
                    answer = await _exchange(connection, asked)
                except (ConnectionLost, ConnectionError):
                    connection.writer.close()
                    if connection.is_new:
                        raise
                    continue  # the server ended it while it was idle
                except BaseException:
                    connection.writer.close()
                    raise
                connection.is_new = False
                self._idle.append(connection)
                return answer

    def _kept(self) -> _Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if not connection.reader.at_eof():
                return connection
            connection.writer.close()
        return None

    async def _opened(self) -> _Connection:
        return _Connection(*await asyncio.open_connection(self._host, self._port, limit=_HEAD_BYTES))

    def close(self) -> None:
        for connection in self._idle:
            connection.writer.close()
        self._idle.clear()


async def _exchange(connection: _Connection, asked: bytes) -> Answer:
    connection.writer.write(asked)
    try:
        head = (await connection.reader.readuntil(b"\r\n\r\n")).lower()
        status = int(head[9:12])
        if b"transfer-encoding: chunked" in head:
            return Answer(status, await _chunks(connection.reader))
        _, found, rest = head.partition(b"\r\ncontent-length:")
        length = int(rest.partition(b"\r\n")[0]) if found else 0
        return Answer(status, await connection.reader.readexactly(length))
    except asyncio.IncompleteReadError as error:
        raise ConnectionLost("connection closed") from error


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    parts = []
    while size := int((await reader.readuntil(b"\r\n")).partition(b";")[0], 16):
        parts.append(await reader.readexactly(size))
        await reader.readexactly(2)
    await reader.readuntil(b"\r\n")
    return b"".join(parts)
