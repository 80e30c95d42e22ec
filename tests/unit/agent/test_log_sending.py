"""Request logs that wait at a site, on their way to the server: by window, rate and age, each endpoint's by its own."""

from __future__ import annotations

import asyncio
import json
import os
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from millpond.agent.log_archive import ArchiveFolder, LogArchive
from millpond.agent.log_sending import LogSender
from millpond.agent.server import Pace, Server
from millpond.errors import BadRequest, MillError, NotFound, ServerUnreachable
from millpond.lake.throttle import TokenBucket
from millpond.testing.archives import FakeVolumes

NIGHT = [{"start": 22 * 60, "end": 6 * 60, "zone": "Europe/Berlin"}]


class FakeServer:
    """Refuses what it is told to, then takes everything."""

    def __init__(self, *refusals: MillError) -> None:
        self.refusals = list(refusals)
        self.received: list[bytes] = []

    async def post_request_log(self, endpoint_id: str, content: bytes, *, pace: Pace | None = None) -> None:
        if self.refusals:
            raise self.refusals.pop(0)
        self.received.append(content)


class FakeClock:
    """Moves only when somebody pauses, or is told to."""

    def __init__(self, text: str = "2026-01-15T12:00") -> None:
        self.now = datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()

    def __call__(self) -> float:
        return self.now

    async def pause(self, seconds: float) -> None:
        self.now += seconds


class Waiting:
    """The files of one endpoint, written at the time that the clock shows."""

    def __init__(self, root: Path, clock: FakeClock | None = None, **rules: Any) -> None:
        self.clock = clock or FakeClock()
        self.archive = LogArchive(FakeVolumes(root / "volume"), root / "own")  # type: ignore[arg-type]
        self.folder: ArchiveFolder = self.archive.folder("aaaaaaaaaa")
        self.folder.set_rules("xray", rules)

    def add(self, *names: str, content: bytes | None = None, age: float = 0.0) -> None:
        for name in names:
            self.folder.add(f"{name}.jsonl", content or name.encode(), self.clock.now - age)

    def send(self, server: object) -> None:
        asyncio.run(self._sender(server).send(self.folder))

    async def send_here(self, server: object) -> None:
        await self._sender(server).send(self.folder)

    def _sender(self, server: object) -> LogSender:
        return LogSender(
            server, self.archive, clock=self.clock, new_bucket=partial(TokenBucket, self.clock), pause=self.clock.pause
        )  # type: ignore[arg-type]

    def left(self) -> list[str]:
        return [path.name for path in self.folder.files()]


def test_files_are_sent_in_order_and_removed(tmp_path: Path) -> None:
    waiting, server = Waiting(tmp_path), FakeServer()
    waiting.add("b", "a")
    waiting.send(server)
    assert server.received == [b"a", b"b"] and waiting.left() == []


def test_a_server_that_is_away_gets_the_file_later(tmp_path: Path) -> None:
    waiting, server = Waiting(tmp_path), FakeServer(ServerUnreachable("away"))
    waiting.add("a")
    waiting.send(server)
    assert server.received == [b"a"] and waiting.left() == []


def test_a_file_that_the_server_never_takes_holds_no_other_up(tmp_path: Path) -> None:
    waiting, server = Waiting(tmp_path), FakeServer(BadRequest("no"))
    waiting.add("a", "b")
    waiting.send(server)
    assert server.received == [b"b"] and waiting.left() == []


def test_what_waits_of_an_endpoint_that_is_gone_is_removed(tmp_path: Path) -> None:
    waiting, server = Waiting(tmp_path), FakeServer(NotFound("gone"))
    waiting.add("a", "b")
    waiting.send(server)
    assert server.received == [] and not waiting.folder.path.exists()


def test_files_leave_only_in_the_window(tmp_path: Path) -> None:
    waiting, server = Waiting(tmp_path, FakeClock("2026-01-15T20:59"), windows=NIGHT), FakeServer()
    waiting.add("a", "b")
    waiting.send(server)
    assert server.received == [] and len(waiting.left()) == 2
    waiting.clock.now += 60
    waiting.send(server)
    assert server.received == [b"a", b"b"]


def test_a_window_that_closes_while_the_server_is_away_leaves_files_where_they_are(tmp_path: Path) -> None:
    waiting = Waiting(tmp_path, FakeClock("2026-01-15T04:50"), windows=NIGHT)
    waiting.add("a")
    waiting.send(FakeServer(*(ServerUnreachable("away") for _ in range(10_000))))
    assert waiting.left() == ["a.jsonl"]


def test_files_that_wait_for_too_long_are_removed_also_outside_of_the_window(tmp_path: Path) -> None:
    waiting, server = Waiting(tmp_path, windows=NIGHT, keep_seconds=3600), FakeServer()
    waiting.add("a", age=7200)
    waiting.add("b", age=1800)
    waiting.send(server)
    assert waiting.left() == ["b.jsonl"] and server.received == []


def test_a_file_that_becomes_too_old_while_the_server_is_away_is_given_up(tmp_path: Path) -> None:
    waiting = Waiting(tmp_path, keep_seconds=3600)
    waiting.add("a")
    waiting.send(FakeServer(*(ServerUnreachable("away") for _ in range(10_000))))
    assert waiting.left() == []


def test_bytes_go_at_most_at_the_limit_and_arrive_whole(tmp_path: Path) -> None:
    waiting, received = Waiting(tmp_path, bits_per_second=800_000), list[bytes]()
    begin, content = waiting.clock.now, b"x" * 999_999 + b"\n"

    async def answer(request: httpx.Request) -> httpx.Response:
        received.append(await request.aread())
        assert request.headers["Content-Length"] == "1000000" and "Transfer-Encoding" not in request.headers
        return httpx.Response(204)

    async def case() -> None:
        server = Server("http://server", "token", transport=httpx.MockTransport(answer))
        await waiting.send_here(server)
        await server.close()

    waiting.add("a", "b", content=content)
    asyncio.run(case())
    assert received == [content] * 2
    assert 19.5 < waiting.clock.now - begin < 20.5, "2 MB at 100 kB/s"


def test_broken_rules_hold_nothing_up(tmp_path: Path) -> None:
    waiting, server = Waiting(tmp_path), FakeServer()
    waiting.add("a")
    for text in ("", "[1]", "{", json.dumps({"windows": 3})):
        (waiting.folder.path / "rules.json").write_text(text)
        assert waiting.folder.rules().keep_seconds is None
    os.utime(waiting.folder.files()[0])
    waiting.send(server)
    assert server.received == [b"a"]
