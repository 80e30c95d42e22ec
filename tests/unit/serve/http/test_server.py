"""HTTP of the data plane, byte by byte: order, limits, slow clients, compression, draining."""

from __future__ import annotations

import asyncio
import gzip
import json
import zlib
from collections.abc import Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import uvloop

from millpond.serve.errors import ServeError
from millpond.serve.http import Limits, Request, Response
from tests.unit.serve.http.wire import connected, serving

GET = b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n"
SMALL = Limits(header_bytes=500, header_count=8, body_bytes=1000)


def run(case: Coroutine[Any, Any, None]) -> None:
    uvloop.run(asyncio.wait_for(case, 60))


def post(body: bytes, *headers: str) -> bytes:
    lines = "".join(f"{header}\r\n" for header in headers)
    return f"POST /p HTTP/1.1\r\nContent-Length: {len(body)}\r\n{lines}\r\n".encode() + body


def test_answers_pipelined_requests_in_order_although_the_first_takes_longest() -> None:
    async def case() -> None:
        first = asyncio.Event()

        async def late() -> Response:
            await first.wait()
            return Response(200, b"late")

        def handler(request: Request) -> Any:
            if request.path == "/late":
                asyncio.get_running_loop().call_later(0.01, first.set)
                return late()
            return Response(200, [b"now ", request.path.encode()])

        async with serving(handler) as server, connected(server) as wire:
            wire.send(b"GET /late HTTP/1.1\r\n\r\n" + b"".join(b"GET /%d HTTP/1.1\r\n\r\n" % n for n in range(50)))
            assert (await wire.read())[2] == b"late"
            assert [(await wire.read())[2] for _ in range(50)] == [b"now /%d" % n for n in range(50)]

    run(case())


def test_reads_a_request_that_comes_byte_by_byte_and_one_in_chunks() -> None:
    async def case() -> None:
        async with serving() as server, connected(server) as wire:
            for byte in post(b"body"):
                wire.send(bytes([byte]))
                await wire.writer.drain()
            assert (await wire.read())[2] == b"POST /p body"
            wire.send(b"POST /c?x=1 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")
            assert (await wire.read())[2] == b"POST /c abcde"

    run(case())


def test_head_has_the_length_and_no_body_and_old_clients_are_closed() -> None:
    async def case() -> None:
        async with serving() as server, connected(server) as wire:
            wire.send(b"HEAD /a HTTP/1.1\r\n\r\n" + GET.replace(b"1.1", b"1.0"))
            head = await wire.reader.readuntil(b"\r\n\r\n")
            assert b"content-length: 8\r\n" in head
            status, headers, body = await wire.read()
            assert (status, headers["connection"], body) == (200, "close", b"GET /a ")
            assert await wire.closed()

    run(case())


def test_invites_the_body_of_a_client_that_waits_for_it() -> None:
    async def case() -> None:
        async with serving() as server, connected(server) as wire:
            wire.send(b"POST /p HTTP/1.1\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n")
            assert await wire.reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
            wire.send(b"abc")
            assert (await wire.read())[2] == b"POST /p abc"

    run(case())


@pytest.mark.parametrize(
    ("sent", "status", "word"),
    [
        (b"nonsense\r\n\r\n", 400, "malformed"),
        (b"GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n", 400, "malformed"),
        (b"GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400, "malformed"),
        (b"POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nabc", 400, "malformed"),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400, "malformed"),
        (b"GET / HTTP/1.1\r\nX: " + b"a" * 600 + b"\r\n\r\n", 431, "500 bytes"),
        (b"GET /" + b"a" * 600 + b" HTTP/1.1\r\n\r\n", 431, "500 bytes"),
        (b"GET / HTTP/1.1\r\n" + b"X: a\r\n" * 9 + b"\r\n", 431, "8 headers"),
        (b"POST / HTTP/1.1\r\nContent-Length: 1001\r\n\r\n", 413, "1000 bytes"),
        (b"POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 99999999999999999\r\n\r\n", 413, "1000"),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n" + b"a" * 1001 + b"\r\n0\r\n\r\n", 413, "1000"),
    ],
    ids=range(11),
)
def test_refuses_bad_requests_after_the_answers_before_them(sent: bytes, status: int, word: str) -> None:
    async def case() -> None:
        async with serving(limits=SMALL) as server, connected(server) as wire:
            wire.send(GET + sent)
            assert (await wire.read())[0] == 200
            got, headers, body = await wire.read()
            assert (got, headers["connection"]) == (status, "close")
            assert word in json.loads(body)["error"]
            assert server.buffered == 0
            # More of the refused request does not hide the answer, and is not taken for another request.
            wire.send(GET * 100)
            wire.writer.write_eof()
            assert await wire.closed()

    run(case())


@pytest.mark.parametrize(
    ("body", "encoding", "status", "word"),
    [
        (gzip.compress(b"x" * 900), "gzip", 200, "xxx"),
        (zlib.compress(b"x" * 900), "deflate", 200, "xxx"),
        (zlib.compress(b"x" * 900)[2:-4], "deflate", 200, "xxx"),
        (gzip.compress(b"x" * 1001), "gzip", 413, "after decompression"),
        (gzip.compress(b"x" * 500_000), "gzip", 413, "after decompression"),
        (gzip.compress(b"x" * 900)[:-9], "gzip", 400, "ends too early"),
        (gzip.compress(b"x") + b"more", "gzip", 400, "data follows"),
        (b"plain", "gzip", 400, "cannot decompress"),
        (b"plain", "br", 400, "not supported"),
    ],
    ids=range(9),
)
def test_decompresses_bodies_up_to_the_limit(body: bytes, encoding: str, status: int, word: str) -> None:
    async def case() -> None:
        async with serving(limits=SMALL) as server, connected(server) as wire:
            wire.send(post(body, f"Content-Encoding: {encoding}"))
            got, _, told = await wire.read()
            assert (got, word in told.decode()) == (status, True)

    run(case())


def test_a_bomb_that_is_large_itself_is_refused_in_another_thread() -> None:
    async def case() -> None:
        limits = replace(SMALL, body_bytes=100_000)
        async with serving(limits=limits) as server, connected(server) as wire:
            wire.send(post(gzip.compress(b"\0" * 20_000_000), "Content-Encoding: gzip"))
            assert (await wire.read())[0] == 413
            wire.send(GET)
            assert (await wire.read())[0] == 200

    run(case())


@pytest.mark.parametrize("sent", [b"GET / HT", b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nab", GET + b"G"])
def test_slow_clients_are_told_and_closed(sent: bytes) -> None:
    async def case() -> None:
        limits = Limits(header_seconds=0.05, body_seconds=0.05)
        async with serving(limits=limits) as server, connected(server) as wire:
            wire.send(sent)
            if sent.startswith(GET):
                assert (await wire.read())[0] == 200
            status, _, body = await wire.read()
            assert (status, "too long" in body.decode()) == (408, True)

    run(case())


def test_silent_connections_and_clients_that_do_not_read_are_closed() -> None:
    async def case() -> None:
        large = Response(200, b"x" * 50_000_000)
        limits = Limits(header_seconds=0.05, idle_seconds=0.05, write_seconds=0.05)
        async with serving(lambda request: large, limits) as server:
            async with connected(server) as silent:
                assert await silent.closed()
            async with connected(server) as stuck:
                stuck.send(GET)
                while server.connections:
                    await asyncio.sleep(0.02)

    run(case())


def test_too_many_connections_are_told_to_come_back() -> None:
    async def case() -> None:
        async with serving(limits=Limits(connections=1)) as server, connected(server) as first:
            first.send(GET)
            assert (await first.read())[0] == 200
            async with connected(server) as second:
                status, headers, _ = await second.read()
                assert (status, headers["retry-after"]) == (503, "1")
            first.send(GET)
            assert (await first.read())[0] == 200

    run(case())


def test_errors_of_handlers_are_answers_and_the_connection_stays() -> None:
    def handler(request: Request) -> Response:
        if request.path == "/a":
            raise ServeError(429, "queue is full", retry_after=3)
        raise RuntimeError("a detail of the server")

    async def case() -> None:
        async with serving(handler) as server, connected(server) as wire:
            wire.send(GET + GET.replace(b"/a", b"/b"))
            status, headers, body = await wire.read()
            assert (status, headers["retry-after"], json.loads(body)) == (429, "3", {"error": "queue is full"})
            status, _, body = await wire.read()
            assert (status, b"detail" in body) == (500, False)

    run(case())


def test_a_client_that_leaves_cancels_its_request() -> None:
    async def case() -> None:
        begun, cancelled = asyncio.Event(), asyncio.Event()

        async def handler(request: Request) -> Response:
            begun.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.set()
                raise
            raise AssertionError

        async with serving(handler) as server:
            async with connected(server) as wire:
                wire.send(GET)
                await begun.wait()
            await cancelled.wait()

    run(case())


def test_draining_finishes_what_is_in_flight(tmp_path: Path) -> None:
    async def case() -> None:
        begun, go = asyncio.Event(), asyncio.Event()

        async def handler(request: Request) -> Response:
            begun.set()
            await go.wait()
            return Response(200, b"done")

        path = tmp_path / "s.sock"
        async with (
            serving(handler, listen=f"unix:{path}") as server,
            connected(server) as idle,
            connected(server) as busy,
        ):
            busy.send(GET)
            await begun.wait()
            draining = asyncio.create_task(server.drain(30))
            assert await idle.closed()
            assert not path.exists()
            go.set()
            status, headers, body = await busy.read()
            assert (status, headers["connection"], body) == (200, "close", b"done")
            assert await draining is True

    run(case())


def test_draining_ends_when_its_time_is_over() -> None:
    async def case() -> None:
        begun = asyncio.Event()

        async def handler(request: Request) -> Response:
            begun.set()
            await asyncio.Event().wait()
            raise AssertionError

        async with serving(handler) as server, connected(server) as wire:
            wire.send(GET)
            await begun.wait()
            assert await server.drain(0.05) is False
            assert server.connections == 0

    run(case())


def test_takes_over_a_socket_that_a_killed_server_left_but_not_one_in_use(tmp_path: Path) -> None:
    async def case() -> None:
        listen = f"unix:{tmp_path / 's.sock'}"
        async with serving(listen=listen) as server:
            with pytest.raises(OSError, match="another server"):
                async with serving(listen=listen):
                    pass
            server._unix_path = None  # as if it were killed: the file stays
        async with serving(listen=listen) as server, connected(server) as wire:
            wire.send(GET)
            assert (await wire.read())[0] == 200

    run(case())


def test_bodies_of_all_connections_together_are_limited() -> None:
    async def case() -> None:
        async with (
            serving(limits=Limits(buffered_bytes=1000)) as server,
            connected(server) as first,
            connected(server) as second,
        ):
            first.send(post(b"x" * 900)[:-1])
            while server.buffered < 899:
                await asyncio.sleep(0.01)
            second.send(post(b"x" * 200))
            status, headers, _ = await second.read()
            assert (status, headers["retry-after"]) == (503, "1")
            assert server.buffered == 899
            first.send(b"x")
            assert (await first.read())[0] == 200
            assert server.buffered == 0
            first.send(post(b"x" * 900)[:-1])
            while server.buffered < 899:
                await asyncio.sleep(0.01)
            first.writer.close()
            while server.buffered:
                await asyncio.sleep(0.01)

    run(case())
