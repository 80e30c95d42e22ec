"""Files of a router's request log: taken to the archive of the site, split by endpoint, and kept there whole."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

from millpond.agent.log_archive import LogArchive
from millpond.agent.request_log import RequestLogTaker
from millpond.testing.archives import FakeVolumes

XRAY, ECHO = "aaaaaaaaaa", "bbbbbbbbbb"
RULES = {"level": "meta", "keep_seconds": None, "max_bytes": 1000, "bits_per_second": None, "windows": []}


def row(number: int, endpoint: str = "xray") -> str:
    return json.dumps({"id": str(number), "endpoint": endpoint}) + "\n"


class Router:
    """A placement of a router and the archive of its site, on one volume."""

    def __init__(self, root: Path) -> None:
        self.directory = root / "placement"
        self.folder = self.directory / "service/log"
        self.folder.mkdir(parents=True)
        self.volumes = FakeVolumes(root / "volume")
        self.archive = LogArchive(self.volumes, root / "own")  # type: ignore[arg-type]
        self.taker = RequestLogTaker(self.archive, self.directory)
        self.configure({"name": "xray", "id": XRAY}, {"name": "echo", "id": ECHO})

    def configure(self, *endpoints: dict[str, Any]) -> None:
        told = [{"log": RULES, **one} for one in endpoints]
        (self.directory / "service/router.json").write_text(json.dumps({"endpoints": told}))

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text)
        return path

    def left(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir())

    def archived(self, endpoint_id: str = XRAY) -> dict[str, str]:
        return {path.name: path.read_text() for path in self.archive.folder(endpoint_id).files()}


def test_closed_files_go_to_the_volume_by_endpoint(tmp_path: Path) -> None:
    router = Router(tmp_path)
    closed = router.write("a.jsonl", row(1) + row(2, "echo") + row(3))
    router.write("b.jsonl.open", row(4))
    router.write("c.txt", "4\n")
    os.utime(closed, (1000, 1000))
    router.taker.take((".jsonl",))
    assert router.left() == ["b.jsonl.open", "c.txt"]
    assert router.archived() == {"a.jsonl": row(1) + row(3)} and router.archived(ECHO) == {"a.jsonl": row(2, "echo")}
    folder = router.archive.folder(XRAY)
    assert folder.path.is_relative_to(tmp_path / "volume") and folder.path.stat().st_mode & 0o077 == 0
    assert folder.files()[0].stat().st_mtime == 1000, "its age counts from when it was written"
    assert folder.rules().max_bytes == 1000 and folder.name() == "xray"


def test_after_the_end_the_open_file_is_taken_too_without_half_a_line(tmp_path: Path) -> None:
    router = Router(tmp_path)
    router.write("a.jsonl.open", row(1) + '{"id": "2", "endp')
    asyncio.run(router.taker.finish())
    assert router.left() == [] and router.archived() == {"a.jsonl": row(1)}


def test_an_agent_killed_in_between_takes_it_again_and_doubles_nothing(tmp_path: Path) -> None:
    router = Router(tmp_path)
    router.write("a.jsonl", row(1))
    router.archive.folder(XRAY).add("a.jsonl", row(1).encode(), 0.0)
    router.taker.take((".jsonl",))
    assert router.left() == [] and router.archived() == {"a.jsonl": row(1)}


def test_what_is_beyond_the_room_stays_with_the_router(tmp_path: Path) -> None:
    router = Router(tmp_path)
    router.write("a.jsonl", row(1) * 20)
    router.write("b.jsonl", row(2) * 20)
    router.taker.take((".jsonl",))
    assert router.left() == ["b.jsonl"] and list(router.archived()) == ["a.jsonl"]
    router.archive.folder(XRAY).files()[0].unlink()
    router.taker.take((".jsonl",))
    assert router.left() == [] and list(router.archived()) == ["b.jsonl"]


def test_without_a_volume_they_wait_on_the_agents_own_disk(tmp_path: Path) -> None:
    router = Router(tmp_path)
    router.volumes.works = False
    router.write("a.jsonl", row(1))
    router.taker.take((".jsonl",))
    assert router.archive.folder(XRAY).path == tmp_path / "own" / XRAY and list(router.archived()) == ["a.jsonl"]
    router.volumes.works = True
    assert {folder.path.parent for folder in router.archive.to_send()} == {tmp_path / "own"}
    router.archive.settle()
    assert router.archived() == {"a.jsonl": row(1)} and router.archive.folder(XRAY).rules().max_bytes == 1000
    assert not list((tmp_path / "own").iterdir()), "on the volume as soon as there is one"


def test_rows_of_an_endpoint_that_the_router_no_longer_knows_find_its_folder(tmp_path: Path) -> None:
    router = Router(tmp_path)
    router.taker.take((".jsonl",))
    router.configure({"name": "echo", "id": ECHO})
    router.write("a.jsonl", row(1) + row(2, "never"))
    router.taker.take((".jsonl",))
    assert router.left() == [] and router.archived() == {"a.jsonl": row(1)}


def test_links_are_not_followed_and_ids_are_no_paths(tmp_path: Path) -> None:
    router = Router(tmp_path)
    (tmp_path / "secret").write_text(row(1))
    (router.folder / "a.jsonl").symlink_to(tmp_path / "secret")
    router.configure({"name": "xray", "id": "../../escaped"})
    router.write("b.jsonl", row(2))
    router.taker.take((".jsonl",))
    assert router.left() == [] and (tmp_path / "secret").exists()
    assert not list(tmp_path.rglob("escaped"))


def test_only_whoever_looks_after_the_volume_sends(tmp_path: Path) -> None:
    router = Router(tmp_path)
    router.write("a.jsonl", row(1))
    router.taker.take((".jsonl",))
    assert [folder.endpoint_id for folder in router.archive.to_send()] == [XRAY, ECHO]
    assert router.archive.bytes_by_volume() == {"v": len(row(1))}
    router.volumes.tended = False
    assert router.archive.to_send() == [] and router.archive.bytes_by_volume() == {}
