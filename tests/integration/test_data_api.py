"""Data through the API as a foreign client would use it, on a directory and on S3: every byte over signed URLs."""

from __future__ import annotations

import random
from base64 import b64encode
from collections.abc import Iterator
from contextlib import closing
from hashlib import md5
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urljoin, urlsplit
from zlib import crc32

import httpx
import pytest

from millpond.blobs.local import LocalStore
from millpond.blobs.location import open_store
from millpond.blobs.signing import LocalSigner
from millpond.blobs.store import CRC32_HEADER, BlobStore
from millpond.lake.locators import unpack_locator
from millpond.lake.pages import pack_page, unpack_page
from millpond.model.people import Role
from millpond.testing.builders_data import Pushed, a_commit, a_pack, a_tree
from millpond.testing.seaweed import CREDENTIALS, Seaweed
from millpond.testing.server import SECRET, RunningServer, running_server

BASE = "/projects/default/datasets/xray"


@pytest.fixture(params=["directory", "seaweed"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> BlobStore:
    if request.param == "directory":
        return LocalStore(tmp_path / "lake", LocalSigner(SECRET))
    seaweed: Seaweed = request.getfixturevalue("seaweed")
    return open_store(seaweed.url(tmp_path.name), environment=CREDENTIALS)


@pytest.fixture
def local(tmp_path: Path) -> Iterator[RunningServer]:
    store = LocalStore(tmp_path / "lake", LocalSigner(SECRET))
    with running_server(tmp_path / "server", store=store) as server:
        yield server


class Client:
    """The protocol of uploading and reading, call by call."""

    def __init__(self, server: RunningServer, api: httpx.Client) -> None:
        self.server = server
        self.api = api

    def upload(self, pushed: Pushed) -> str:
        upload = self.ok(self.api.post("/projects/default/uploads", json={}))["id"]
        base = f"/projects/default/uploads/{upload}"
        digests = list(pushed.content)
        missing = self.api.post(f"{base}/missing", content=b"".join(digests)).content
        wanted = {d: pushed.content[d] for d, flag in zip(digests, missing, strict=True) if flag}
        if wanted:
            (slot,) = self.ok(self.api.post(f"{base}/packs", json={"count": 1}))["slots"]
            pack = a_pack(wanted)
            self.put(slot, pack)
            written = {"packs": [{"id": slot["id"], "size": len(pack)}]}
            assert self.api.post(f"{base}/packs/written", json=written).status_code == 204
        for slot in self.ok(self.api.post(f"{base}/pages", json={"pages": list(pushed.pages)}))["slots"]:
            self.put(slot, pack_page(pushed.pages[slot["id"]]))
        return str(upload)

    def commit(self, pushed: Pushed, *, branch: str = "main", expected: str | None = None) -> httpx.Response:
        body = {"upload": self.upload(pushed), "tree": pushed.root, "branch": branch, "expected": expected}
        return self.api.post(f"{BASE}/commits", json=body)

    def put(self, slot: dict, data: bytes) -> None:
        answer = httpx.put(
            urljoin(self.server.url, slot["url"]), content=data, headers=slot["headers"], trust_env=False
        )
        assert answer.status_code in (200, 201), answer.text

    def get(self, url: str, **headers: str) -> httpx.Response:
        return httpx.get(urljoin(self.server.url, url), headers=headers, trust_env=False)

    @staticmethod
    def ok(answer: httpx.Response) -> dict:
        assert answer.status_code in (200, 201), answer.text
        return dict(answer.json())


def test_a_dataset_from_nothing_to_every_byte_read_back(store: BlobStore, tmp_path: Path) -> None:
    big = random.Random(2).randbytes(2_500_000)
    with running_server(tmp_path / "server", store=store) as server:
        api = server.user("maria", roles={"default": Role.MEMBER})
        client = Client(server, api)
        client.ok(api.post("/projects/default/datasets", json={"name": "xray"}))
        first = client.ok(client.commit(a_tree({"a/b.txt": b"hello", "big.bin": big})))
        again = client.commit(a_tree({"a/b.txt": b"hello", "big.bin": big}), expected=first["id"])
        assert client.ok(again)["id"] == first["id"]
        second = client.ok(client.commit(a_tree({"a/b.txt": b"bye", "big.bin": big}), expected=first["id"]))
        late = client.commit(a_tree({"c": b"late"}), expected=first["id"])
        assert (late.status_code, late.json()["code"]) == (409, "ref_moved")
        assert late.json()["details"]["head"] == second["id"]
        history = client.ok(api.get(f"{BASE}/commits"))["items"]
        assert [commit["id"] for commit in history] == [second["id"], first["id"]]
        read = api.get(
            f"{BASE}/commits/main/file", params={"path": "big.bin"}, headers={"Range": "bytes=1000000-2000000"}
        )
        assert (read.status_code, read.content) == (206, big[1_000_000:2_000_001])
        assert api.get(f"{BASE}/commits/{first['id'][:8]}/file", params={"path": "a/b.txt"}).content == b"hello"
        urls = client.ok(
            api.post(f"{BASE}/commits/main/urls", json={"pages": [second["tree"]], "locators": [second["tree"]]})
        )
        unpack_page(second["tree"], client.get(urls["pages"][second["tree"]]).content)
        places = unpack_locator(client.get(urls["locators"][second["tree"]]).content)
        pack_id, place = next((place.pack_id, place) for place in places.values())
        pack = client.ok(api.post(f"{BASE}/commits/main/urls", json={"packs": [pack_id]}))["packs"][pack_id]
        span = f"bytes={place.offset}-{place.offset + place.stored - 1}"
        part = client.get(pack, Range=span)
        assert (part.status_code, len(part.content)) == (206, place.stored)


def test_a_branch_with_a_slash(local: RunningServer) -> None:
    a_commit(local.deps, {"d/a": b"1"}, branch="feature/x")
    api = local.admin
    assert api.get(f"{BASE}/commits/feature%2Fx").json()["refs"] == ["feature/x"]
    assert api.get(f"{BASE}/commits/feature%2Fx/entries").json()["items"][0]["name"] == "d"
    assert api.get(f"{BASE}/commits/feature%2Fx/file", params={"path": "d/a"}).content == b"1"
    assert [ref["name"] for ref in api.get(f"{BASE}/refs").json()["items"]] == ["feature/x"]


def test_histories_and_directories_come_in_pages(local: RunningServer) -> None:
    made = [a_commit(local.deps, {f"f{n}": b"1" for n in range(count)}).id for count in range(1, 6)]
    shown: list[str] = []
    cursor = None
    while True:
        params = {"limit": 2} | ({"cursor": cursor} if cursor else {})
        page = local.admin.get(f"{BASE}/commits", params=params).json()
        shown += [commit["id"] for commit in page["items"]]
        cursor = page["next"]
        if cursor is None:
            break
    assert shown == made[::-1]
    first = local.admin.get(f"{BASE}/commits/main/entries", params={"limit": 3}).json()
    rest = local.admin.get(f"{BASE}/commits/main/entries", params={"limit": 3, "cursor": first["next"]}).json()
    assert [item["name"] for item in first["items"] + rest["items"]] == [f"f{n}" for n in range(5)]
    part = local.admin.get(f"{BASE}/diff", params={"before": made[0], "after": "main", "limit": 3}).json()
    assert (part["added"], len(part["items"])) == (4, 3)
    last = local.admin.get(f"{BASE}/diff", params={"before": made[0], "after": "main", "cursor": part["next"]}).json()
    assert [item["path"] for item in last["items"]] == ["f4"]


@pytest.mark.parametrize(
    ("name", "kind", "shown"),
    [
        ("x.html", "text/plain; charset=utf-8", "inline"),
        ("x.svg", "text/plain; charset=utf-8", "inline"),
        ("x.xml", "text/plain; charset=utf-8", "inline"),
        ("x.js", "text/plain; charset=utf-8", "inline"),
        ("x.png", "image/png", "inline"),
        ("x.pdf", "application/octet-stream", "attachment"),
        ("x.bin", "application/octet-stream", "attachment"),
        ("notes.md", "text/plain; charset=utf-8", "inline"),
    ],
)  # fmt: skip
def test_what_people_put_there_never_runs_in_the_pages_origin(
    local: RunningServer, name: str, kind: str, shown: str
) -> None:
    a_commit(local.deps, {name: b"<script>alert(1)</script>"})
    answer = local.admin.get(f"{BASE}/commits/main/file", params={"path": name})
    assert answer.headers["content-type"] == kind
    assert answer.headers["content-disposition"] == f"{shown}; filename*=UTF-8''{name}"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-security-policy"].startswith("sandbox;")
    download = local.admin.get(f"{BASE}/commits/main/file", params={"path": name, "download": "1"})
    assert download.headers["content-disposition"].startswith("attachment")


def test_a_file_that_is_known_is_not_sent_again(local: RunningServer) -> None:
    a_commit(local.deps, {"a": b"1"})
    first = local.admin.get(f"{BASE}/commits/main/file", params={"path": "a"})
    again = local.admin.get(
        f"{BASE}/commits/main/file", params={"path": "a"}, headers={"If-None-Match": first.headers["etag"]}
    )
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize(
    ("path", "status"), [("nothing", 404), ("d", 400), ("../../etc/passwd", 400), ("", 400), ("/etc/passwd", 400)]
)
def test_paths_that_are_no_file(local: RunningServer, path: str, status: int) -> None:
    a_commit(local.deps, {"d/a": b"1"})
    assert local.admin.get(f"{BASE}/commits/main/file", params={"path": path}).status_code == status


def test_names_with_unusual_bytes_are_shown_and_read(local: RunningServer) -> None:
    a_commit(local.deps, {"über.txt": b"1", "a b\n.txt": b"2", "back\\slash": b"3"})
    found = local.admin.get(f"{BASE}/commits/main/entries").json()["items"]
    texts = {item["path"] for item in found}
    assert texts == {"über.txt", "a b\n.txt", "back\\\\slash"}
    read = {text: local.admin.get(f"{BASE}/commits/main/file", params={"path": text}).content for text in texts}
    assert sorted(read.values()) == [b"1", b"2", b"3"]


# The local lake's URLs ---------------------------------------------------------------------------


def signed(server: RunningServer, method: str, key: str = "projects/p/packs/aa/aabb", seconds: int = 60) -> str:
    return urljoin(server.url, server.deps.store.sign(method, key, seconds).url)


def test_an_object_is_created_once(local: RunningServer) -> None:
    url = signed(local, "PUT")
    with httpx.Client(trust_env=False) as http:
        assert http.put(url, content=b"0123456789").status_code == 201
        assert http.put(url, content=b"0123456789").status_code == 200
        assert http.put(url, content=b"longer than before").status_code == 412
        read = signed(local, "GET")
        assert http.get(read).content == b"0123456789"
        part = http.get(read, headers={"Range": "bytes=2-4"})
        assert (part.status_code, part.content) == (206, b"234")
        assert http.head(read).headers["content-length"] == "10"
        assert http.get(read, headers={"Range": "bytes=20-30"}).status_code == 416


def test_damaged_bytes_are_refused(local: RunningServer) -> None:
    url = signed(local, "PUT")
    with httpx.Client(trust_env=False) as http:
        for header, checksum in (
            ("Content-MD5", b64encode(md5(b"0123").digest())),
            (CRC32_HEADER, b64encode(crc32(b"0123").to_bytes(4, "big"))),
        ):
            answer = http.put(url, content=b"0124", headers={header: checksum.decode()})
            assert (answer.status_code, "BadDigest" in answer.text) == (400, True)
            assert http.put(url, content=b"0123", headers={header: checksum.decode()}).status_code in (200, 201)


def test_slots_name_the_checksum_of_their_pack(local: RunningServer) -> None:
    upload = local.admin.post("/projects/default/uploads", json={}).json()["id"]
    path = f"/projects/default/uploads/{upload}/packs"
    slots = local.admin.post(path, json={"count": 2, "crc32": ["AAAAAA==", "AAAAAQ=="]}).json()["slots"]
    assert [slot["headers"] for slot in slots] == [{CRC32_HEADER: "AAAAAA=="}, {CRC32_HEADER: "AAAAAQ=="}]
    for wrong in (["AAAAAA=="], ["AAAAAA==", "no checksum"], ["AAAAAA==", "AAAAAR=="]):
        assert local.admin.post(path, json={"count": 2, "crc32": wrong}).status_code == 400


def test_a_url_does_only_what_it_was_signed_for(local: RunningServer) -> None:
    write, read = signed(local, "PUT"), signed(local, "GET")
    with httpx.Client(trust_env=False) as http:
        http.put(write, content=b"1")
        for method, url in (
            ("PUT", read),
            ("GET", write),
            ("GET", read.replace("aabb", "aabc")),
            ("GET", read.replace("signature=", "signature=0")),
            ("GET", signed(local, "GET", seconds=-1)),
            ("PUT", signed(local, "PUT", seconds=-1)),
            ("GET", read.replace("packs/aa", "packs/%2E%2E/packs/aa")),
        ):
            answer = http.request(method, url, content=b"x" if method == "PUT" else None)
            assert answer.status_code == 403, (method, url)
        assert http.get(signed(local, "GET", "projects/p/packs/aa/none")).status_code == 404
        assert http.get(urljoin(local.url, "/lake/millpond.json")).status_code == 422


def test_objects_have_a_greatest_size(local: RunningServer) -> None:
    """Refused by what is announced, before a byte of it is read."""
    url = urlsplit(signed(local, "PUT"))
    connection = HTTPConnection(str(url.hostname), url.port, timeout=30)
    with closing(connection):
        connection.putrequest("PUT", f"{url.path}?{url.query}")
        connection.putheader("Content-Length", str((64 << 20) + 1))
        connection.endheaders()
        assert connection.getresponse().status == 413
