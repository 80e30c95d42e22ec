"""Files of a router's request log on their way to the server: each is sent until the server has it, then removed."""

from __future__ import annotations

import asyncio
from pathlib import Path

from millpond.agent.request_log import RequestLogShipper
from millpond.errors import BadRequest, MillError, ServerUnreachable, StalePlacement


class FakeServer:
    """Refuses what it is told to, then takes everything."""

    def __init__(self, *refusals: MillError) -> None:
        self.refusals = list(refusals)
        self.received: list[bytes] = []

    async def post_request_log(self, placement: str, content: bytes) -> None:
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
