"""Directories as zip files: exact, safe to unpack, made while they are sent, and never half a one in disguise."""

from __future__ import annotations

import io
import os
import random
import stat
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote_to_bytes

import httpx
import pytest

from millpond.blobs.memory import MemoryStore
from millpond.blobs.signing import LocalSigner
from millpond.model.people import Role
from millpond.services.datasets.archives import safe_name
from millpond.testing.builders_data import a_commit
from millpond.testing.server import SECRET, RunningServer, running_server
from millpond.testing.waiting import wait_until
from tests.integration.data_server import DataServer, data_server

BASE = "/projects/default/datasets/xray/commits/main/zip"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DataServer]:
    with data_server(tmp_path_factory.mktemp("zip")) as running:
        yield running


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running_server(tmp_path_factory.mktemp("zip-server")) as running:
        yield running


def archive(answer: httpx.Response) -> zipfile.ZipFile:
    assert answer.status_code == 200, answer.text
    found = zipfile.ZipFile(io.BytesIO(answer.content))
    assert found.testzip() is None
    return found


def test_a_real_tree_comes_back(data: DataServer, tmp_path: Path) -> None:
    noise = random.Random(1).randbytes
    files = {"a.txt": b"text " * 1000, "d/über.bin": noise(5000), "d/empty": b"", "d/large.bin": noise(3_000_000)}
    files |= {"d/large.txt": b"the same line again\n" * 200_000, "d/twice.bin": files["d/über.bin"]}
    files |= {f"many/{n:04}": b"%d" % n for n in range(1500)}
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    (tmp_path / "d/run.sh").write_bytes(b"#!/bin/sh\n")
    (tmp_path / "d/run.sh").chmod(0o755)
    (tmp_path / "d/nothing").mkdir()
    (tmp_path / "d/link").symlink_to("../a.txt")
    commit = data.commit(tmp_path, "xray")

    answer = data.server.admin.get(BASE)
    assert answer.headers["content-disposition"] == f"attachment; filename*=UTF-8''xray-{commit.id[:8]}.zip"
    assert answer.headers["content-type"] == "application/zip"
    assert answer.headers["x-content-type-options"] == "nosniff"
    found = archive(answer)
    assert {name: found.read(f"xray/{name}") for name in files} == files
    assert {"xray/", "xray/d/nothing/"} <= set(found.namelist())
    assert found.read("xray/d/link") == b"../a.txt" and found.getinfo("xray/d/link").external_attr >> 28 == 0xA
    assert found.getinfo("xray/d/run.sh").external_attr >> 16 == stat.S_IFREG | 0o755
    assert found.getinfo("xray/a.txt").compress_size < 200
    assert found.getinfo("xray/d/large.txt").compress_size < 100_000
    assert len(found.namelist()) == len(set(found.namelist())) == len(files) + 4

    part = data.server.admin.get(BASE, params={"path": "d"})
    assert part.headers["content-disposition"] == "attachment; filename*=UTF-8''d.zip"
    inside = archive(part)
    assert all(name.startswith("d/") for name in inside.namelist())
    assert inside.read("d/über.bin") == files["d/über.bin"]
    assert archive(data.server.admin.get(BASE, params={"path": "d/nothing"})).namelist() == ["nothing/"]


def test_odd_names_are_safe_to_unpack(data: DataServer, tmp_path: Path) -> None:
    names = [rb"..\..\evil.exe", b"new\nline", b"not-utf-8-\xff", b"...", b"C:drive", b"100%", b".. ", b"\xc3\xbc"]
    names += [b"new%0Aline", b"new%250Aline", b"50%ab"]
    for name in names:
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)).write_bytes(name)
    data.commit(tmp_path, "odd")
    found = archive(data.server.admin.get(BASE.replace("xray", "odd")))
    inside = set(found.namelist()) - {"odd/"}
    expected = ["..%5C..%5Cevil.exe", "new%0Aline", "not-utf-8-%FF", "%2E%2E%2E", "C:drive", "100%", "%2E%2E%20", "ü"]
    expected += ["new%250Aline", "new%25250Aline", "50%25ab"]
    assert inside == {f"odd/{name}" for name in expected}
    assert {unquote_to_bytes(name.removeprefix("odd/")): found.read(name) for name in inside} == {n: n for n in names}


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        (b"a/b.txt", "a/b.txt"),
        (b"a/ .. /b", "a/%20%2E%2E%20/b"),
        (b".hidden/x.", ".hidden/x."),
        (b"tab\t\x7f", "tab%09%7F"),
        (b"%\n %0\n 100% %zz %0a", "%%0A %0%0A 100% %zz %250a"),
        (b"\\\\server\\share", "%5C%5Cserver%5Cshare"),
    ],
)
def test_what_is_odd_in_a_name_is_escaped(name: bytes, safe: str) -> None:
    assert safe_name(name) == safe


def test_what_is_no_directory_has_no_archive(server: RunningServer) -> None:
    a_commit(server.deps, {"d/a": b"1"})
    for path, status in (("d/a", 404), ("gone", 404), ("../x", 400)):
        assert server.admin.get(BASE, params={"path": path}).status_code == status
    stranger = server.user("stan", roles={"other": Role.ADMIN})
    assert stranger.get(BASE).status_code == 404


class _Watched(MemoryStore):
    """Counts reads of packs; damages those that a test names."""

    def __init__(self) -> None:
        super().__init__(LocalSigner(SECRET))
        self.reads = 0
        self.damaged_from: int | None = None
        self.go_on = threading.Event()
        self.go_on.set()

    def get_range(self, key: str, start: int, end: int) -> bytes:
        self.reads += 1
        self.go_on.wait(30)
        data = super().get_range(key, start, end)
        return bytes(len(data)) if self.damaged_from is not None and self.reads > self.damaged_from else data


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[tuple[RunningServer, _Watched]]:
    store = _Watched()
    with running_server(tmp_path, store=store) as running:
        noise = random.Random(2).randbytes
        a_commit(running.deps, {f"{n:02}": noise(1 << 20) for n in range(40)})
        store.reads = 0
        yield running, store


def test_what_is_damaged_ends_the_stream(watched: tuple[RunningServer, _Watched]) -> None:
    server, store = watched
    store.damaged_from = 7
    received = bytearray()
    with pytest.raises(httpx.RemoteProtocolError), server.admin.stream("GET", BASE) as answer:
        assert answer.status_code == 200
        for part in answer.iter_raw():
            received += part
    assert len(received) < 40 << 20 and not zipfile.is_zipfile(io.BytesIO(received))
    # What is wrong from the beginning is an answer that says so.
    store.damaged_from = 0
    assert server.admin.get(BASE).json()["code"] == "corrupt"


def test_a_client_that_leaves_ends_the_work(watched: tuple[RunningServer, _Watched]) -> None:
    server, store = watched
    with server.admin.stream("GET", BASE) as answer:
        next(answer.iter_raw(1000))
        # As far ahead as it may go, and what sockets hold; never the whole archive.
        assert store.reads < 30
    wait_until(lambda: not [t for t in threading.enumerate() if t.name.startswith("zip")], within=60, what="its end")
    assert store.reads < 40
