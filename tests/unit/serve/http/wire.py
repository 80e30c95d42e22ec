"""A client that writes bytes as they are, and a server to write them to."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from millpond.serve.http import Handler, HttpServer, Limits, Request, Response, serve_http


def echo(request: Request) -> Response:
    return Response(200, b"%s %s %s" % (request.method.encode(), request.path.encode(), request.body))


@asynccontextmanager
async def serving(
    handler: Handler = echo, limits: Limits | None = None, listen: str = "tcp:127.0.0.1:0", **more: object
) -> AsyncIterator[HttpServer]:
    server = await serve_http(handler, listen=listen, limits=limits, **more)  # type: ignore[arg-type]
    try:
        yield server
    finally:
        await server.close()


class Wire:
    """One connection. `read` takes whole answers off it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def send(self, data: bytes) -> None:
        self.writer.write(data)

    async def read(self) -> tuple[int, dict[str, str], bytes]:
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode()
        lines = head.split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        body = await self.reader.readexactly(int(headers.get("content-length", 0)))
        return int(lines[0].split()[1]), headers, body

    async def closed(self) -> bool:
        """Wait until the server has closed; True if nothing more came."""
        return await self.reader.read() == b""


@asynccontextmanager
async def connected(server: HttpServer, tls: ssl.SSLContext | None = None) -> AsyncIterator[Wire]:
    kind, _, where = server.address.partition(":")
    if kind == "unix":
        reader, writer = await asyncio.open_unix_connection(where)
    else:
        host, _, port = where.rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port), ssl=tls)
    try:
        yield Wire(reader, writer)
    finally:
        writer.close()
