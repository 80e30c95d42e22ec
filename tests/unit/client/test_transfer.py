from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from millpond.blobs.store import CRC32_HEADER
from millpond.client import transfer
from millpond.client.http import Api
from millpond.client.transfer import ApiDownloader, ApiUploader
from millpond.errors import Corrupt, Forbidden
from millpond.lake.digests import id_of
from millpond.lake.locators import pack_locator
from millpond.lake.pages import pack_page
from millpond.lake.reader import room_for_pages
from millpond.lake.tree import TreeBuilder
from millpond.model.tree import Content, Entry, Kind
from millpond.volumes.kept_pages import KeptSource
from tests.unit.client.fake_server import Answer, FakeServer, Received, problem

EXPIRES = "2026-11-15T20:15:00Z"


class Lake:
    """The API's side of an upload and a download; `expired` URLs are refused, as a store does."""

    def __init__(self, server: FakeServer) -> None:
        self.objects: dict[str, bytes] = {}
        self.expired: set[str] = set()
        self._given = 0
        at = "2026-11-15T20:00:00Z"
        server.on("POST", "/projects/vision/uploads", lambda r: {"id": "u1", "created_at": at})
        server.on("POST", ".*/uploads/u1/missing", self._missing)
        server.on("POST", ".*/uploads/u1/packs", lambda r: self._slots([self._next() for _ in range(r.json["count"])]))
        server.on("POST", ".*/uploads/u1/pages", lambda r: self._slots(r.json["pages"]))
        server.on("POST", ".*/uploads/u1/packs/written", lambda r: Answer(204))
        server.on("POST", "/projects/vision/datasets/xray/commits/c1/urls", self._urls)
        server.on("PUT", "/lake/(.+)", self._put)
        server.on("GET", "/lake/(.+)", self._get)

    def _next(self) -> str:
        self._given += 1
        return f"pack-{self._given}"

    def _missing(self, received: Received) -> Answer:
        digests = [received.body[n : n + 32] for n in range(0, len(received.body), 32)]
        return Answer(body=bytes(digest[0] % 2 for digest in digests), type="application/octet-stream")

    def _slots(self, ids: list[str]) -> dict[str, object]:
        return {"slots": [{"id": i, "url": f"/lake/{i}?n={self._number()}", "expires_at": EXPIRES} for i in ids]}

    def _number(self) -> int:
        self._given += 1
        return self._given

    def _urls(self, received: Received) -> dict[str, object]:
        kinds = ("pages", "locators", "packs")
        urls = {kind: {i: f"/lake/{i}?n={self._number()}" for i in received.json[kind]} for kind in kinds}
        return {**urls, "expires_at": EXPIRES}

    def _put(self, received: Received) -> Answer:
        if received.query["n"] in self.expired:
            return Answer(403)
        self.objects[received.match[1]] = received.body
        return Answer(200)

    def _get(self, received: Received) -> Answer:
        if received.query["n"] in self.expired:
            return Answer(403)
        content = self.objects.get(received.match[1])
        if content is None:
            return Answer(404)
        wanted = received.headers.get("range")
        if wanted is None:
            return Answer(200, content)
        start, end = wanted.removeprefix("bytes=").split("-")
        return Answer(206, content[int(start) : int(end) + 1])


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def lake(server: FakeServer) -> Lake:
    return Lake(server)


@pytest.fixture
def api(server: FakeServer) -> Api:
    return Api(server.url, "mill_token", sleep=lambda seconds: None)


def digest(first: int) -> bytes:
    return bytes([first]) + bytes(31)


def test_nothing_is_asked_before_it_is_needed(api: Api, server: FakeServer) -> None:
    with ApiUploader(api, "vision", known_tree="t" * 64) as uploader:
        assert uploader.page_slots(["a", "t" * 64]) == []
    assert server.received == []


def test_missing_is_asked_in_batches(api: Api, server: FakeServer, lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "DIGESTS_AT_ONCE", 2)
    with ApiUploader(api, "vision") as uploader:
        assert uploader.missing([digest(n) for n in range(5)]) == [False, True, False, True, False]
    assert [len(r.body) for r in server.calls("POST", ".*/missing")] == [64, 64, 32]
    assert len(server.calls("POST", "/projects/vision/uploads")) == 1


def test_an_empty_project_is_not_asked(api: Api, server: FakeServer, lake: Lake) -> None:
    made = {"id": "u1", "created_at": "2026-11-15T20:00:00Z", "begins_empty": True}
    server.on("POST", "/projects/vision/uploads", lambda r: made)
    with ApiUploader(api, "vision") as uploader:
        assert uploader.missing([digest(0), digest(1)]) == [True, True]
    assert server.calls("POST", ".*/missing") == []


def test_pages_damaged_on_the_way_are_sent_again(api: Api, server: FakeServer, lake: Lake) -> None:
    answers = [Answer(204), problem(400, "bad_format", "That is no page.")]
    server.on("PUT", ".*/uploads/u1/pages/bytes", lambda r: answers.pop())
    with ApiUploader(api, "vision") as uploader:
        uploader.put_pages({"ab" * 32: b"frame"})
    first, second = server.calls("PUT", ".*/pages/bytes")
    assert first.body == second.body and first.body.endswith(b"frame")


def test_slots_come_ahead_of_need_and_are_not_used_when_old(api: Api, server: FakeServer, lake: Lake) -> None:
    clock = Clock()
    with ApiUploader(api, "vision", clock=clock) as uploader:
        first, second = uploader.pack_slots(1)[0], uploader.pack_slots(1)[0]
        assert first.id != second.id
        assert len(server.calls("POST", ".*/packs")) == 1
        clock.now = transfer.URL_SECONDS + 1
        uploader.pack_slots(1)
    assert len(server.calls("POST", ".*/packs")) == 2


def test_a_pack_is_sent_with_the_checksum_its_slot_was_signed_for(api: Api, server: FakeServer, lake: Lake) -> None:
    def slots(received: Received) -> dict[str, object]:
        given = lake._slots([f"pack-{checksum}" for checksum in received.json["crc32"]])["slots"]
        assert isinstance(given, list)
        for slot, checksum in zip(given, received.json["crc32"], strict=True):
            slot["headers"] = {CRC32_HEADER: checksum}
        return {"slots": given}

    server.on("POST", ".*/uploads/u1/packs", slots)
    with ApiUploader(api, "vision") as uploader:
        for checksum in ("AAAAAA==", "AAAAAQ=="):
            uploader.put(uploader.pack_slots(1, [checksum])[0], b"pack")
    sent = [call.headers for call in server.calls("PUT", "/lake/.*")]
    assert [(headers[CRC32_HEADER], "content-md5" in headers) for headers in sent] == [
        ("AAAAAA==", False),
        ("AAAAAQ==", False),
    ]


def test_where_the_store_does_not_check_it_slots_come_ahead_and_packs_go_with_md5(
    api: Api, server: FakeServer, lake: Lake
) -> None:
    with ApiUploader(api, "vision") as uploader:
        for _ in range(4):
            uploader.put(uploader.pack_slots(1, ["AAAAAA=="])[0], b"pack")
    assert len(server.calls("POST", ".*/packs")) == 2
    assert all("content-md5" in call.headers for call in server.calls("PUT", "/lake/.*"))


def test_every_thread_gets_a_slot_of_its_own(api: Api, lake: Lake) -> None:
    with ApiUploader(api, "vision") as uploader, ThreadPoolExecutor(8) as pool:
        slots = [slot for part in pool.map(lambda _: uploader.pack_slots(1), range(40)) for slot in part]
    assert len({slot.id for slot in slots}) == 40


def test_an_expired_slot_is_told_and_its_siblings_are_dropped(api: Api, lake: Lake, server: FakeServer) -> None:
    with ApiUploader(api, "vision") as uploader:
        slot = uploader.pack_slots(1)[0]
        lake.expired = {str(n) for n in range(20)}
        with pytest.raises(Forbidden):
            uploader.put(slot, b"pack")
        lake.expired = set()
        fresh = uploader.pack_slots(1)[0]
        uploader.put(fresh, b"pack")
    assert lake.objects == {fresh.id: b"pack"}
    assert len(server.calls("POST", ".*/packs")) == 2


def a_tree(lake: Lake, files: int) -> str:
    """Pages of a tree with `files` entries, put into the lake; the root's id."""

    def sink(page_id: str, data: bytes) -> None:
        lake.objects[page_id] = pack_page(data)

    builder = TreeBuilder(sink)
    for number in range(files):
        content = f"{number:06d}".encode()
        name = bytes.fromhex(id_of(content))
        builder.add(Entry(content, Kind.FILE, len(content), Content.BLOB, name))
    return builder.finish().root


def test_urls_are_asked_ahead_and_renewed_once(api: Api, server: FakeServer, lake: Lake) -> None:
    root = a_tree(lake, 9000)
    with ApiDownloader(api, "vision", "xray", "c1") as downloader:
        downloader.page(root)
        children = [i for i in lake.objects if i != root]
        assert len(children) > 1
        for child in children:
            downloader.page(child)
        assert len(server.calls("POST", ".*/urls")) == 2, "the root, then all its children at once"
        lake.expired = {str(n) for n in range(1000)}
        with pytest.raises(Forbidden):
            downloader.page(children[0])
        lake.expired = {str(n) for n in range(lake._given + 1)}
        assert downloader.page(children[0])


def test_urls_are_asked_ahead_also_below_pages_that_another_fill_has_read(
    api: Api, server: FakeServer, lake: Lake
) -> None:
    root = a_tree(lake, 9000)
    leaves = [page_id for page_id in lake.objects if page_id != root]
    room = room_for_pages()
    with ApiDownloader(api, "vision", "xray", "c1") as downloader:
        KeptSource(downloader, room).decoded(root)
    lake.objects.update(dict.fromkeys(leaves, pack_locator([])))
    asked = len(server.calls("POST", ".*/urls"))
    with ApiDownloader(api, "vision", "xray", "c1") as downloader:
        source = KeptSource(downloader, room)
        source.decoded(root)
        for leaf in leaves:
            assert source.locator(leaf) == {}
    assert len(leaves) > 1
    assert len(server.calls("POST", ".*/urls")) == asked + 1


def test_old_urls_are_renewed_before_they_fail(api: Api, server: FakeServer, lake: Lake) -> None:
    clock = Clock()
    lake.objects["p1"] = bytes(range(100))
    with ApiDownloader(api, "vision", "xray", "c1", clock=clock) as downloader:
        assert downloader.pack_range("p1", 10, 20) == bytes(range(10, 20))
        assert downloader.pack_range("p1", 90, 100) == bytes(range(90, 100))
        assert len(server.calls("POST", ".*/urls")) == 1
        clock.now = transfer.URL_SECONDS + 1
        assert downloader.pack_range("p1", 0, 1) == b"\0"
    assert len(server.calls("POST", ".*/urls")) == 2


def test_what_the_server_names_and_the_store_lacks_is_damage(api: Api, lake: Lake) -> None:
    with (
        ApiDownloader(api, "vision", "xray", "c1") as downloader,
        pytest.raises(Corrupt, match="no longer in the lake"),
    ):
        downloader.pack_range("absent", 0, 1)
