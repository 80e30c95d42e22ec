"""Files of a router's request log on their way to the server: each is sent until the server has it, then removed."""

from __future__ import annotations

import asyncio
import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx

from millpond.agent.request_log import RequestLogShipper
from millpond.agent.server import Pace, Server
from millpond.errors import BadRequest, MillError, ServerUnreachable, StalePlacement
from millpond.lake.throttle import TokenBucket


class FakeServer:
    """Refuses what it is told to, then takes everything."""

    def __init__(self, *refusals: MillError) -> None:
        self.refusals = list(refusals)
        self.received: list[bytes] = []

    async def post_request_log(self, placement: str, content: bytes, *, pace: Pace | None = None) -> None:
        if self.refusals:
            raise self.refusals.pop(0)
        self.received.append(content)


def a_folder(directory: Path, **files: str) -> Path:
    folder = directory / "service/log"
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)
    return folder


def send(server: FakeServer, directory: Path, endings: tuple[str, ...] = (".jsonl",)) -> None:
    shipper = RequestLogShipper(server, "p", directory)  # type: ignore[arg-type]
    asyncio.run(shipper._send_all(endings))


def test_closed_files_are_sent_in_order_and_removed(tmp_path: Path) -> None:
    folder = a_folder(tmp_path, a_jsonl="1\n", b_jsonl="2\n", c_jsonl_open="3\n", d_txt="4\n")
    server = FakeServer()
    send(server, tmp_path)
    assert server.received == [b"1\n", b"2\n"]
    assert sorted(path.name for path in folder.iterdir()) == ["c.jsonl.open", "d.txt"]


def test_after_the_end_the_open_file_is_sent_too(tmp_path: Path) -> None:
    a_folder(tmp_path, a_jsonl="1\n", c_jsonl_open='3\n{"id')
    server = FakeServer()
    asyncio.run(RequestLogShipper(server, "p", tmp_path).finish())  # type: ignore[arg-type]
    assert server.received == [b"1\n", b'3\n{"id']


def test_a_server_that_is_away_gets_the_file_later(tmp_path: Path) -> None:
    folder = a_folder(tmp_path, a_jsonl="1\n")
    server = FakeServer(ServerUnreachable("away"))
    send(server, tmp_path)
    assert server.received == [b"1\n"] and not list(folder.iterdir())


def test_a_file_that_the_server_never_takes_holds_no_other_up(tmp_path: Path) -> None:
    folder = a_folder(tmp_path, a_jsonl="1\n", b_jsonl="2\n")
    server = FakeServer(BadRequest("no"))
    send(server, tmp_path)
    assert server.received == [b"2\n"] and not list(folder.iterdir())


def test_a_placement_that_is_over_keeps_its_files(tmp_path: Path) -> None:
    folder = a_folder(tmp_path, a_jsonl="1\n")
    send(FakeServer(StalePlacement("over")), tmp_path)
    assert len(list(folder.iterdir())) == 1


def test_links_are_not_followed(tmp_path: Path) -> None:
    folder = a_folder(tmp_path)
    (tmp_path / "secret").write_text("secret")
    (folder / "a.jsonl").symlink_to(tmp_path / "secret")
    server = FakeServer()
    send(server, tmp_path)
    assert server.received == [] and (tmp_path / "secret").exists()


def test_a_job_that_is_no_router_sends_nothing(tmp_path: Path) -> None:
    server = FakeServer()
    send(server, tmp_path)
    assert server.received == []


class FakeClock:
    """Moves only when somebody pauses, or is told to."""

    def __init__(self, text: str = "2026-01-15T12:00") -> None:
        self.now = datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()

    def __call__(self) -> float:
        return self.now

    async def pause(self, seconds: float) -> None:
        self.now += seconds


def a_shipper(server: object, directory: Path, clock: FakeClock, **rules: Any) -> RequestLogShipper:
    (directory / "service/router.json").write_text(json.dumps({"log": rules}))
    bucket = TokenBucket(clock)
    return RequestLogShipper(server, "p", directory, clock=clock, bucket=bucket, pause=clock.pause)  # type: ignore[arg-type]


NIGHT = [{"start": 22 * 60, "end": 6 * 60, "zone": "Europe/Berlin"}]


def test_files_leave_only_in_the_window(tmp_path: Path) -> None:
    folder = a_folder(tmp_path, a_jsonl="1\n", b_jsonl="2\n")
    server = FakeServer()
    for text, sent in (("2026-01-15T20:59", []), ("2026-01-15T21:00", [b"1\n", b"2\n"])):
        asyncio.run(a_shipper(server, tmp_path, FakeClock(text), windows=NIGHT)._send_all((".jsonl",)))
        assert server.received == sent
    assert not list(folder.iterdir())


def test_a_window_that_closes_while_the_server_is_away_leaves_files_where_they_are(tmp_path: Path) -> None:
    folder = a_folder(tmp_path, a_jsonl="1\n")
    server = FakeServer(*(ServerUnreachable("away") for _ in range(10_000)))
    asyncio.run(a_shipper(server, tmp_path, FakeClock("2026-01-15T04:50"), windows=NIGHT)._send_all((".jsonl",)))
    assert [path.name for path in folder.iterdir()] == ["a.jsonl"] and server.received == []


def test_once_the_router_has_ended_nothing_waits_for_the_window(tmp_path: Path) -> None:
    a_folder(tmp_path, a_jsonl="1\n")
    server = FakeServer()
    asyncio.run(a_shipper(server, tmp_path, FakeClock(), windows=NIGHT, bits_per_second=64_000).finish())
    assert server.received == [b"1\n"]


def test_files_that_wait_for_too_long_are_removed_also_outside_of_the_window(tmp_path: Path) -> None:
    folder, clock = a_folder(tmp_path, a_jsonl="1\n", b_jsonl="2\n", c_jsonl_open="3\n"), FakeClock()
    for name, age in (("a.jsonl", 7200), ("b.jsonl", 1800), ("c.jsonl.open", 7200)):
        os.utime(folder / name, (clock.now - age, clock.now - age))
    server = FakeServer()
    asyncio.run(a_shipper(server, tmp_path, clock, windows=NIGHT, keep_seconds=3600)._send_all((".jsonl",)))
    assert sorted(path.name for path in folder.iterdir()) == ["b.jsonl", "c.jsonl.open"] and server.received == []


def test_a_file_that_becomes_too_old_while_the_server_is_away_is_given_up(tmp_path: Path) -> None:
    folder, clock = a_folder(tmp_path, a_jsonl="1\n"), FakeClock()
    os.utime(folder / "a.jsonl", (clock.now, clock.now))
    server = FakeServer(*(ServerUnreachable("away") for _ in range(10_000)))
    asyncio.run(a_shipper(server, tmp_path, clock, keep_seconds=3600)._send_all((".jsonl",)))
    assert not list(folder.iterdir()) and server.received == []


def test_bytes_go_at_most_at_the_limit_and_arrive_whole(tmp_path: Path) -> None:
    clock, received = FakeClock(), list[bytes]()
    begin, content = clock.now, "x" * 999_999 + "\n"

    async def answer(request: httpx.Request) -> httpx.Response:
        received.append(await request.aread())
        assert request.headers["Content-Length"] == "1000000" and "Transfer-Encoding" not in request.headers
        return httpx.Response(204)

    async def case() -> None:
        server = Server("http://server", "token", transport=httpx.MockTransport(answer))
        await a_shipper(server, tmp_path, clock, bits_per_second=800_000)._send_all((".jsonl",))
        await server.close()

    a_folder(tmp_path, a_jsonl=content, b_jsonl=content)
    asyncio.run(case())
    assert received == [content.encode()] * 2
    assert 19.5 < clock.now - begin < 20.5, "2 MB at 100 kB/s"
