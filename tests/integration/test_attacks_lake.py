"""Somebody with a role and a hand-made client tries to read, spoil or fake what is others'.

What a tree must look like is in tests/unit/services/commits/test_commits.py; here are the ways around it: foreign
packs, kept URLs, lost roles, on a store that signs its own URLs and overwrites without asking.
"""

from __future__ import annotations

import itertools
import os
import struct
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from urllib.parse import urljoin

import httpx
import pytest
import zstandard

from millpond.blobs.local import LocalStore
from millpond.blobs.location import open_store
from millpond.blobs.signing import LocalSigner
from millpond.blobs.store import BlobStore
from millpond.client.clone import clone
from millpond.client.datasets import create_dataset
from millpond.client.edits import put_files
from millpond.client.http import Api
from millpond.client.sync import sync
from millpond.client.working_copy import WorkingCopy, require_working_copy
from millpond.lake.chunks import ChunkList, encode_chunk_list
from millpond.lake.digests import digest_of
from millpond.lake.external import Descriptor, encode_descriptor
from millpond.lake.locators import unpack_locator
from millpond.lake.pages import IndexPage, PageRef, decode_page, pack_page
from millpond.lake.tree import leaf_ends
from millpond.model.people import Role
from millpond.model.tree import Content, Entry, Kind
from millpond.services.commits.checks import leaf as leaf_check
from millpond.services.commits.packs import verify
from millpond.services.deps import SystemClock
from millpond.testing.builders_data import a_commit, a_pack, a_tree
from millpond.testing.rclone import CREDENTIALS, Rclone
from millpond.testing.seaweed import CREDENTIALS as SEAWEED_CREDENTIALS
from millpond.testing.seaweed import Seaweed
from millpond.testing.server import SECRET, RunningServer, running_server
from millpond.wire.data import Commit, Merge
from tests.integration.real_lake import tree

UPLOADS = "/projects/default/uploads"
COMMITS = "/projects/default/datasets/xray/commits"
TRUTH = b"what everybody has"


class Shifted:
    """A clock that can be put forward, so that URLs end without waiting for it."""

    def __init__(self) -> None:
        self.ahead = timedelta()

    def now(self) -> datetime:
        return SystemClock().now() + self.ahead

    def elapsed(self) -> float:
        return SystemClock().elapsed()


@pytest.fixture
def clock() -> Shifted:
    return Shifted()


@pytest.fixture(params=["directory", pytest.param("rclone", marks=pytest.mark.long)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> BlobStore:
    if request.param == "directory":
        return LocalStore(tmp_path / "lake", LocalSigner(SECRET))
    rclone: Rclone = request.getfixturevalue("rclone")
    return open_store(rclone.url(tmp_path.name), environment=CREDENTIALS)


@pytest.fixture
def server(store: BlobStore, clock: Shifted, tmp_path: Path) -> Iterator[RunningServer]:
    with running_server(tmp_path / "server", store=store, clock=clock) as running:
        yield running


@pytest.fixture
def mallory(server: RunningServer) -> Attacker:
    return Attacker(server, server.user("mallory", roles={"default": Role.MEMBER}))


class Attacker:
    """Speaks the protocol by hand, and keeps every URL."""

    def __init__(self, server: RunningServer, api: httpx.Client) -> None:
        self.server, self.api = server, api
        self.upload = api.post(UPLOADS, json={}).json()["id"]
        self.base = f"{UPLOADS}/{self.upload}"

    def put(self, url: str, data: bytes, headers: Mapping[str, str] | None = None) -> int:
        with httpx.Client(trust_env=False) as http:
            return http.put(urljoin(self.server.url, url), content=data, headers=headers).status_code

    def pack(self, data: bytes) -> tuple[str, str]:
        """A pack that was written and confirmed: its id and the URL."""
        (slot,) = self.api.post(f"{self.base}/packs", json={"count": 1}).json()["slots"]
        assert self.put(slot["url"], data, slot["headers"]) in (200, 201)
        told = self.api.post(f"{self.base}/packs/written", json={"packs": [{"id": slot["id"], "size": len(data)}]})
        assert told.status_code == 204, told.text
        return slot["id"], slot["url"]

    def pages(self, pages: dict[str, bytes]) -> dict[str, str]:
        """Pages that were written: the URL of each."""
        slots = self.api.post(f"{self.base}/pages", json={"pages": list(pages)}).json()["slots"]
        for slot in slots:
            assert self.put(slot["url"], pack_page(pages[slot["id"]])) in (200, 201)
        return {slot["id"]: slot["url"] for slot in slots}

    def tree(self, entries: Sequence[Entry]) -> str:
        """The root of a small tree of these, whose page was written."""
        page = raw_leaf(sorted(entries, key=lambda entry: entry.path))
        self.pages({digest_of(page).hex(): page})
        return digest_of(page).hex()

    def commit(self, root: str, branch: str = "main") -> httpx.Response:
        return self.api.post(COMMITS, json={"upload": self.upload, "tree": root, "branch": branch})


def victims_commit(server: RunningServer, root: Path) -> Path:
    """Another member syncs a folder that holds the same file, with the ordinary client."""
    server.user("maria", roles={"default": Role.MEMBER})
    folder = root / "victim"
    folder.mkdir()
    (folder / "a").write_bytes(TRUTH)
    with Api(server.url, server.token_of("maria")) as api:
        dataset = create_dataset(api, "default", "hers")
        sync(api, WorkingCopy(folder, server.url, "default", "hers", dataset.id))
    return folder


def check_readable(server: RunningServer, folder: Path, name: str) -> None:
    copy = folder.with_name(name)
    with Api(server.url, server.token_of("maria")) as api:
        clone(api, "default", "hers", "main", copy)
    assert tree(copy) == tree(folder)


def test_urls_that_were_kept_do_not_spoil_somebody_elses_commit(
    server: RunningServer, mallory: Attacker, clock: Shifted, tmp_path: Path
) -> None:
    """The same page and the same blob, first brought by the attacker, found good, then overwritten by kept URLs."""
    server.admin.post("/projects/default/datasets", json={"name": "xray"})
    pushed = a_tree({"a": TRUTH})
    good = a_pack(pushed.content)
    _, pack_url = mallory.pack(good)
    page_urls = mallory.pages(pushed.pages)
    assert mallory.commit(pushed.root).status_code == 201
    verify.verify_some(server.deps)
    folder = victims_commit(server, tmp_path)
    mallory.put(pack_url, bytes(len(good)))
    mallory.put(pack_url, os.urandom(10))
    for url in page_urls.values():
        assert mallory.put(url, b"garbage") == 400
    check_readable(server, folder, "copy")
    clock.ahead = timedelta(hours=1)
    verify.verify_some(server.deps)
    check_readable(server, folder, "copy after the check")


@pytest.fixture
def on_seaweed(seaweed: Seaweed, clock: Shifted, tmp_path: Path) -> Iterator[RunningServer]:
    """A server whose lake is a real S3 store, which heeds conditions and checks CRC-32."""
    lake = open_store(seaweed.url(tmp_path.name), environment=SEAWEED_CREDENTIALS)
    with running_server(tmp_path / "server", store=lake, clock=clock) as running:
        yield running


def garbled(pack: bytes, content: bytes) -> bytes:
    """The same pack with a true index, and other bytes where `content` was."""
    assert content in pack
    return pack.replace(content, bytes(len(content)))


def test_a_garbled_pack_of_the_same_tree_does_not_spoil_a_finished_commit(
    on_seaweed: RunningServer, clock: Shifted, tmp_path: Path
) -> None:
    """The attacker commits a colleague's tree just after them, with a pack that has never been read by anybody."""
    on_seaweed.admin.post("/projects/default/datasets", json={"name": "xray"})
    folder = victims_commit(on_seaweed, tmp_path)
    mallory = Attacker(on_seaweed, on_seaweed.user("mallory", roles={"default": Role.MEMBER}))
    pushed = a_tree({"a": TRUTH})
    mallory.pack(garbled(a_pack(pushed.content), TRUTH))
    mallory.pages(pushed.pages)
    mallory.commit(pushed.root)
    check_readable(on_seaweed, folder, "at once")
    for minutes in (1, 18, 36):
        clock.ahead = timedelta(minutes=minutes)
        verify.verify_some(on_seaweed.deps)
        check_readable(on_seaweed, folder, f"after {minutes} minutes")


def test_a_slot_without_a_checksum_never_overwrites(on_seaweed: RunningServer) -> None:
    mallory = Attacker(on_seaweed, on_seaweed.user("mallory", roles={"default": Role.MEMBER}))
    (slot,) = mallory.api.post(f"{mallory.base}/packs", json={"count": 1}).json()["slots"]
    assert mallory.put(slot["url"], b"first", slot["headers"]) == 200
    assert mallory.put(slot["url"], b"second", slot["headers"]) == 412


@pytest.mark.parametrize("how", ["put", "sync", "merge"])
def test_urls_that_were_kept_do_not_spoil_what_others_built_on(
    server: RunningServer, mallory: Attacker, clock: Shifted, tmp_path: Path, how: str
) -> None:
    """Somebody changes one path of a tree that the attacker has just committed, and has no copy of the rest to send."""
    many = {name: b"%d" % (n % 7) for n, name in enumerate(names_of_three_leaves())}
    pushed = a_tree(many)
    assert len(pushed.pages) == 4, "an index of three leaves: one is changed, and others are shared"
    good = a_pack(pushed.content)
    server.user("maria", roles={"default": Role.MEMBER})
    with Api(server.url, server.token_of("maria")) as api:
        create_dataset(api, "default", "xray")
        (tmp_path / "one").write_bytes(b"hers")
        if how == "merge":
            put_files(api, "default", "xray", {"01000 hers": tmp_path / "one"})
        _, pack_url = mallory.pack(good)
        mallory.pages(pushed.pages)
        made = mallory.commit(pushed.root, "mallory" if how == "merge" else "main")
        assert made.status_code == 201, made.text
        build_on(api, how, tmp_path)
        mallory.put(pack_url, bytes(len(good)))
        for name in ("at once", "when the pack was found to be bad"):
            clone(api, "default", "xray", "main", tmp_path / name)
            expected = many | {"01000 hers": b"hers"}
            assert {thing.path.decode(): thing.content for thing in tree(tmp_path / name)} == expected
            clock.ahead = timedelta(hours=1)
            verify.verify_some(server.deps)


def names_of_three_leaves() -> list[str]:
    """As few as there can be, almost: a leaf ends where the name says so, once it holds 512."""
    names = [f"{n:05}" for n in range(1200)]
    for n in (600, 1150):
        names[n] = next(name for more in itertools.count() if leaf_ends(512, (name := f"{n:05}-{more}").encode(), 0))
    return names


def build_on(api: Api, how: str, folder: Path) -> None:
    if how == "put":
        put_files(api, "default", "xray", {"01000 hers": folder / "one"})
    elif how == "merge":
        asked = Merge(source="mallory", into="main", message="both")
        api.send("POST", "/projects/default/datasets/xray/merge", Commit, asked)
    else:
        clone(api, "default", "xray", "main", folder / "hers")
        (folder / "hers" / "01000 hers").write_bytes(b"hers")
        sync(api, require_working_copy(folder / "hers"))


@pytest.mark.long
def test_a_bad_pack_leaves_large_commits_of_others_readable(
    server: RunningServer, mallory: Attacker, tmp_path: Path
) -> None:
    """Trees of several pages: finding a bad pack makes the server forget pages, and no reader may notice."""
    many = {f"{n:05}": b"%d" % (n % 7) for n in range(6000)}
    a_commit(server.deps, many)
    lie = a_pack({digest_of(TRUTH): bytes(len(TRUTH))})
    mallory.pack(lie)
    pushed = a_tree({"a": TRUTH})
    mallory.pages(pushed.pages)
    assert mallory.commit(pushed.root, "mallory").status_code == 201
    verify.verify_some(server.deps)
    with Api(server.url, server.token_of("admin")) as api:
        clone(api, "default", "xray", "main", tmp_path / "copy")
    assert {thing.path.decode(): thing.content for thing in tree(tmp_path / "copy")} == many


def test_a_pack_serves_others_once_no_url_can_change_it(
    server: RunningServer, mallory: Attacker, clock: Shifted
) -> None:
    mallory.pack(a_pack({digest_of(TRUTH): TRUTH}))
    maria = Attacker(server, server.user("maria", roles={"default": Role.MEMBER}))

    def missing() -> bytes:
        return maria.api.post(f"{maria.base}/missing", content=digest_of(TRUTH)).content

    assert missing() == b"\1"
    verify.verify_some(server.deps)
    assert missing() == (b"\0" if server.deps.store.signed_puts_only_create else b"\1")
    clock.ahead = timedelta(seconds=server.deps.settings.url_seconds + 121)
    verify.verify_some(server.deps)
    assert missing() == b"\0"


def test_a_pack_of_another_project_or_upload_is_not_ones_own(server: RunningServer, mallory: Attacker) -> None:
    secret = a_commit(server.deps, {"a": b"confidential"}, project=server.project("secret").name)
    store, project_id = server.deps.store, server.project("secret").id
    prefix = f"projects/{project_id}/"
    (pack,) = store.list(f"{prefix}packs/")
    pack_id = pack.key.rpartition("/")[2]
    told = mallory.api.post(f"{mallory.base}/packs/written", json={"packs": [{"id": pack_id, "size": pack.size}]})
    assert told.status_code == 422, "as for one that does not exist"
    server.admin.post("/projects/default/datasets", json={"name": "xray"})
    mallory.pages(a_tree({"mine": b"confidential"}).pages)
    assert mallory.commit(a_tree({"mine": b"confidential"}).root).status_code == 422
    wanted = {"packs": [pack_id], "pages": [secret.tree]}
    mine = a_commit(server.deps, {"a": b"1"})
    given = mallory.api.post(f"{COMMITS}/{mine.id}/urls", json=wanted)
    assert given.status_code in (200, 404)
    assert pack_id not in given.text
    # A locator of one's own project never names it either.
    places = unpack_locator(store.get(f"projects/{server.project('default').id}/locators/{mine.tree[:2]}/{mine.tree}"))
    assert {place.pack_id for place in places.values()}.isdisjoint({pack_id})


def test_who_lost_the_role_can_do_nothing_with_what_was_left(
    server: RunningServer, mallory: Attacker, clock: Shifted
) -> None:
    server.admin.post("/projects/default/datasets", json={"name": "xray"})
    pushed = a_tree({"a": TRUTH})
    mallory.pack(a_pack(pushed.content))
    mallory.pages(pushed.pages)
    assert server.admin.delete("/projects/default/members/mallory").status_code in (200, 204)
    assert mallory.commit(pushed.root).status_code == 404
    for path, body in (("packs", {"count": 1}), ("pages", {"pages": [pushed.root]}), ("packs/written", {"packs": []})):
        assert mallory.api.post(f"{mallory.base}/{path}", json=body).status_code == 404
    assert mallory.api.post(f"{mallory.base}/missing", content=digest_of(TRUTH)).status_code == 404


def test_a_url_ends(store: BlobStore, server: RunningServer) -> None:
    """The store's own clock decides: signed for one second, used after two."""
    old = store.sign("PUT", "projects/p/packs/aa/aabb", 1).url
    deadline = time.time() + 2.1
    while time.time() < deadline:
        time.sleep(0.1)  # the store's clock cannot be put forward
    with httpx.Client(trust_env=False) as http:
        assert http.put(urljoin(server.url, old), content=b"x").status_code in (400, 403)
    assert store.head("projects/p/packs/aa/aabb") is None


def test_pages_that_are_bombs_or_too_large_are_refused(server: RunningServer, mallory: Attacker) -> None:
    bomb = _bomb()
    page_id = digest_of(bytes(64 << 20)).hex()
    (slot,) = mallory.api.post(f"{mallory.base}/pages", json={"pages": [page_id]}).json()["slots"]
    assert mallory.put(slot["url"], bomb) == 400
    assert mallory.put(slot["url"], os.urandom(1 << 20)) == 400
    server.admin.post("/projects/default/datasets", json={"name": "xray"})
    assert mallory.commit(page_id).status_code == 422


def _bomb() -> bytes:
    """A few kilobytes that open to 64 MiB."""
    return zstandard.ZstdCompressor().compress(bytes(64 << 20))


def test_what_is_no_pack_is_refused(server: RunningServer, mallory: Attacker) -> None:
    """Truncated, with a damaged index, empty, or something else."""
    good = a_pack({digest_of(TRUTH): TRUTH})
    for bad in (good[:-1], good[:-60] + bytes(16) + good[-44:], b"", b"x" * 44):
        (slot,) = mallory.api.post(f"{mallory.base}/packs", json={"count": 1}).json()["slots"]
        mallory.put(slot["url"], bad)
        told = mallory.api.post(f"{mallory.base}/packs/written", json={"packs": [{"id": slot["id"], "size": len(bad)}]})
        assert told.status_code in (400, 422), told.text


def test_a_pack_whose_blob_is_a_bomb_is_condemned(server: RunningServer, mallory: Attacker) -> None:
    """Its index is in order, and says far less than what would come out."""
    frame = _bomb()
    index = digest_of(TRUTH) + struct.pack("<IIIB", 0, len(frame), 2 * len(frame), 1)
    mallory.pack(frame + index + struct.pack("<II32s4s", 1, len(index), digest_of(index), b"MPK1"))
    assert mallory.api.post(f"{mallory.base}/missing", content=digest_of(TRUTH)).content == b"\0"
    verify.verify_some(server.deps)
    assert mallory.api.post(f"{mallory.base}/missing", content=digest_of(TRUTH)).content == b"\1"


def test_a_bomb_that_tells_the_truth_is_refused_before_anybody_opens_it(mallory: Attacker) -> None:
    """Its digest is right and its index says what comes out: too much for the memory of whoever checks it."""
    raw = bytes((64 << 20) + 1)
    frame = zstandard.ZstdCompressor().compress(raw)
    index = digest_of(raw) + struct.pack("<IIIB", 0, len(frame), len(raw), 1)
    pack = frame + index + struct.pack("<II32s4s", 1, len(index), digest_of(index), b"MPK1")
    (slot,) = mallory.api.post(f"{mallory.base}/packs", json={"count": 1}).json()["slots"]
    mallory.put(slot["url"], pack)
    told = mallory.api.post(f"{mallory.base}/packs/written", json={"packs": [{"id": slot["id"], "size": len(pack)}]})
    assert told.status_code in (400, 422), told.text


def test_chunk_lists_that_together_are_a_bomb_are_refused(
    server: RunningServer, mallory: Attacker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One chunk, named over and over: as files they are large, as a pack nothing."""
    server.admin.post("/projects/default/datasets", json={"name": "xray"})
    chunk = bytes(4096)
    lists = [encode_chunk_list(ChunkList([digest_of(chunk)] * count, [4096] * count)) for count in (300, 301, 302)]
    mallory.pack(a_pack({digest_of(blob): blob for blob in (chunk, *lists)}))
    sizes = (300 * 4096, 301 * 4096, 302 * 4096)
    files = [large(b"%d" % n, size, blob) for n, (size, blob) in enumerate(zip(sizes, lists, strict=True))]
    monkeypatch.setattr(leaf_check, "_LISTS_MOST", 2 * len(lists[2]))
    assert mallory.commit(mallory.tree(files)).status_code == 400
    assert mallory.commit(mallory.tree(files[:2])).status_code == 201


def test_more_bytes_than_can_be_counted_are_refused(server: RunningServer, mallory: Attacker) -> None:
    server.admin.post("/projects/default/datasets", json={"name": "xray"})
    size = (1 << 62) - 1
    described = [encode_descriptor(Descriptor("there", f"s3://there/{n}", size, '"tag"')) for n in range(2)]
    mallory.pack(a_pack({digest_of(blob): blob for blob in described}))
    entries = [replace(large(b"%d" % n, size, blob), content=Content.EXTERNAL) for n, blob in enumerate(described)]
    pages = {digest_of(page).hex(): page for page in [raw_leaf(entries)]}
    slots = mallory.api.post(f"{mallory.base}/pages", json={"pages": list(pages)}).json()["slots"]
    assert [mallory.put(slot["url"], pack_page(pages[slot["id"]])) for slot in slots] == [400]
    assert mallory.commit(next(iter(pages))).status_code == 422


def test_one_blob_is_not_a_chunk_list_and_a_descriptor(server: RunningServer, mallory: Attacker) -> None:
    server.admin.post("/projects/default/datasets", json={"name": "xray"})
    size = 2 << 20
    blob = encode_descriptor(Descriptor("there", "s3://there/x", size, '"tag"'))
    mallory.pack(a_pack({digest_of(blob): blob}))
    entries = [large(b"0", size, blob), replace(large(b"1", size, blob), content=Content.EXTERNAL)]
    assert mallory.commit(mallory.tree(entries)).status_code == 400
    assert mallory.commit(mallory.tree(entries[::-1])).status_code == 400


def large(path: bytes, size: int, listed: bytes) -> Entry:
    return Entry(path, Kind.FILE, size, Content.CHUNKS, digest_of(listed))


def raw_leaf(entries: Sequence[Entry]) -> bytes:
    return b"".join(
        [
            b"MLP1" + bytes(4) + struct.pack("<I", len(entries)),
            bytes(int(entry.kind) for entry in entries),
            bytes(int(entry.content) for entry in entries),
            struct.pack(f"<{len(entries)}Q", *(entry.size for entry in entries)),
            *(entry.digest for entry in entries),
            struct.pack(f"<{len(entries)}I", *itertools.accumulate(len(entry.path) for entry in entries)),
            *(entry.path for entry in entries),
        ]
    )


@pytest.mark.parametrize("lie", ["reordered", "overlapping", "twice", "level"])
def test_an_index_page_that_lies_about_its_leaves_is_refused(
    server: RunningServer, mallory: Attacker, lie: str
) -> None:
    """Made byte by byte, since no writer of ours makes such a page."""
    server.admin.post("/projects/default/datasets", json={"name": "xray"})
    pushed = a_tree({f"{n:05}": b"" for n in range(6000)})
    root = pushed.pages.pop(pushed.root)
    page = decode_page(root)
    assert isinstance(page, IndexPage)
    rows = list(zip(page.ids, page.children(), strict=True))
    assert raw_index(1, [ref for _, ref in rows]) == root, "without a lie it is the page itself"
    chosen = {
        "reordered": rows[::-1],
        "overlapping": [rows[0], (rows[1][0], replace(rows[1][1], first=rows[0][1].first + b"0")), *rows[2:]],
        "twice": [rows[0], *rows],
        "level": rows,
    }[lie]
    index = raw_index(2 if lie == "level" else 1, [ref for _, ref in chosen])
    page_id = digest_of(index).hex()
    mallory.pages(pushed.pages)
    (slot,) = mallory.api.post(f"{mallory.base}/pages", json={"pages": [page_id]}).json()["slots"]
    mallory.put(slot["url"], pack_page(index))
    assert mallory.commit(page_id).status_code in (400, 422)
    assert mallory.api.get(COMMITS, params={"ref": "main"}).status_code == 404


def raw_index(level: int, refs: Sequence[PageRef]) -> bytes:
    ends = list(itertools.accumulate(len(ref.first) for ref in refs))
    return b"".join(
        [
            b"MLP1" + bytes([level, 0, 0, 0]) + struct.pack("<I", len(refs)),
            *(bytes.fromhex(ref.id) for ref in refs),
            struct.pack(f"<{len(refs)}Q", *(ref.entries for ref in refs)),
            struct.pack(f"<{len(refs)}Q", *(ref.size for ref in refs)),
            struct.pack(f"<{len(refs)}I", *ends),
            *(ref.first for ref in refs),
        ]
    )
