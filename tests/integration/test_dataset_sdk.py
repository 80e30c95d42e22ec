"""`millpond.Dataset` against a real server: in place, as local files, across threads, forks and pickles."""

from __future__ import annotations

import io
import multiprocessing
import os
import pickle
import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import millpond
from millpond.blobs.store import Buffer
from millpond.client.local_copy import local_copy
from millpond.client.make_once import make_once
from millpond.client.transfer import ApiDownloader
from millpond.errors import BadName, BadRequest, NotFound
from millpond.testing.waiting import wait_until
from tests.integration.data_server import DataServer, data_server

BIG = random.Random(3).randbytes(5_000_000)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DataServer]:
    root = tmp_path_factory.mktemp("dataset-sdk")
    folder = root / "xray"
    (folder / "train").mkdir(parents=True)
    (folder / "empty").mkdir()
    for number in range(40):
        (folder / f"train/{number:03}.txt").write_text(f"line {number}\n" * 3)
    (folder / "training.csv").write_text("a,b\n1,2\n")
    (folder / "big.bin").write_bytes(BIG)
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "run.sh").chmod(0o755)
    (folder / "newest").symlink_to("train/039.txt")
    with data_server(root) as running:
        running.commit(folder, "xray", message="first")
        yield running


def test_lists_and_reads_files(server: DataServer) -> None:
    with millpond.Dataset("default/xray@main") as dataset:
        assert dataset.commit.message == "first"
        files = {entry.path: entry for entry in dataset.files()}
        assert len(files) == 44
        assert (files["big.bin"].size, files["big.bin"].kind) == (len(BIG), "file")
        assert files["run.sh"].kind == "executable"
        assert files["newest"].kind == "symlink"
        assert next(entry.path for entry in dataset.files("train/03")) == "train/030.txt"
        assert len(list(dataset.files("train"))) == 41
        assert dataset.read("training.csv") == b"a,b\n1,2\n"
        assert dataset.read("newest") == b"line 39\n" * 3


def test_many_small_files_are_read_in_blocks_which_are_checked(
    server: DataServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"train/{number:03}.txt" for number in range(40)]
    expected = [f"line {number}\n".encode() * 3 for number in range(40)]
    monkeypatch.setattr("millpond.client.dataset.cache_dir", lambda environ: tmp_path)
    fetched: list[str] = []
    real = ApiDownloader.pack_range

    def pack_range(self: ApiDownloader, pack_id: str, start: int, end: int) -> Buffer:
        fetched.append(pack_id)
        return real(self, pack_id, start, end)

    monkeypatch.setattr(ApiDownloader, "pack_range", pack_range)
    with millpond.Dataset("default/xray@main") as dataset:
        assert [dataset.read(name) for name in names] == expected
        assert len(fetched) == 2, "the first file by itself, then all of them"
    with millpond.Dataset("default/xray@main") as dataset:
        assert [dataset.read(name) for name in names] == expected
        assert len(fetched) == 2, "another process finds them here"
    (block,) = (path for path in (tmp_path / ".blocks").iterdir() if path.stat().st_size)
    block.write_bytes(bytes(block.stat().st_size))
    with millpond.Dataset("default/xray@main") as dataset:
        assert [dataset.read(name) for name in names] == expected
    monkeypatch.setenv("MILL_BLOCK_CACHE", "0")
    fetched.clear()
    with millpond.Dataset("default/xray@main") as dataset:
        assert [dataset.read(name) for name in names] == expected
        assert len(fetched) == 40


def test_an_open_file_behaves_like_one(server: DataServer) -> None:
    dataset = millpond.Dataset("xray")
    with dataset.open("big.bin") as file:
        assert file.read(10) == BIG[:10]
        assert file.seek(-10, io.SEEK_END) == len(BIG) - 10
        assert file.read() == BIG[-10:]
        file.seek(3_000_000)
        assert file.read(1_500_000) == BIG[3_000_000:4_500_000]
        assert file.seek(len(BIG) + 5) and file.read() == b""
    with dataset.open("train/001.txt", "r") as text:
        assert list(text) == ["line 1\n"] * 3
    assert dataset.open("big.bin").read() == BIG


def test_what_cannot_be_opened(server: DataServer) -> None:
    dataset = millpond.Dataset("xray")
    for mode in ("wb", "a", "r+b", "x"):
        with pytest.raises(io.UnsupportedOperation, match="read-only"):
            dataset.open("training.csv", mode)
    with pytest.raises(NotFound):
        dataset.open("absent")
    with pytest.raises(BadRequest):
        dataset.open("train")
    with pytest.raises(NotFound):
        _ = millpond.Dataset("xray@nowhere").commit
    with pytest.raises(BadName):
        millpond.Dataset("xray@main:train")


def test_stays_at_its_commit_when_the_branch_moves(server: DataServer, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("one")
    server.commit(tmp_path, "moving")
    dataset = millpond.Dataset("moving")
    assert dataset.read("f") == b"one"
    (tmp_path / "f").write_text("second")
    server.commit(tmp_path, "moving")
    assert dataset.read("f") == b"one"
    assert millpond.Dataset("moving").read("f") == b"second"


def test_is_read_by_threads_and_after_pickling(server: DataServer) -> None:
    dataset = millpond.Dataset("xray")
    wrong: list[int] = []

    def read(number: int) -> None:
        for at in range(number, 40, 4):
            if dataset.read(f"train/{at:03}.txt") != f"line {at}\n".encode() * 3:
                wrong.append(at)

    threads = [threading.Thread(target=read, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    stored = pickle.dumps(dataset)
    assert os.environ["MILL_TOKEN"].encode() not in stored
    again: millpond.Dataset = pickle.loads(stored)
    assert again.commit == dataset.commit
    assert again.read("training.csv") == b"a,b\n1,2\n"


FORKED = """
import multiprocessing, millpond
dataset = millpond.Dataset("xray")
file = dataset.open("big.bin")
start = file.read(100)

def work(number):
    file.seek(number * 1000)
    return dataset.read(f"train/{number:03}.txt"), file.read(10)

with multiprocessing.get_context("fork").Pool(3) as pool:
    for number, (text, part) in enumerate(pool.map(work, range(40), chunksize=1)):
        assert text == f"line {number}\\n".encode() * 3
        assert len(part) == 10
assert file.read(100) == dataset.read("big.bin")[100:200]
"""


def test_survives_a_fork(server: DataServer) -> None:
    subprocess.run([sys.executable, "-c", FORKED], check=True, timeout=60)


def test_a_local_folder_is_fetched_once(server: DataServer, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = millpond.Dataset("xray")
    path = dataset.path()
    assert path == server.home / "cache/default/xray" / dataset.commit.id
    assert (path / "big.bin").read_bytes() == BIG
    assert (path / "empty").is_dir()
    assert (path / "newest").readlink() == Path("train/039.txt")
    assert not (path / "big.bin").stat().st_mode & 0o222, "the copy is shared by all scripts of this user"
    before = path.stat().st_ino
    assert millpond.Dataset("xray").path() == path
    assert path.stat().st_ino == before
    assert [p.name for p in path.parent.iterdir()] == [path.name], "nothing is left beside it"


def test_a_jobs_own_input_is_meant(server: DataServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "f").write_text("one")
    old = server.commit(tmp_path, "given")
    (tmp_path / "f").write_text("second")
    new = server.commit(tmp_path, "given")
    cached = tmp_path / "volume" / old.id
    cached.mkdir(parents=True)
    monkeypatch.setenv("MILL_DATA_GIVEN", str(cached))
    assert millpond.Dataset("given").commit.id == old.id
    assert millpond.Dataset("given").path() == cached
    assert millpond.Dataset("given@main").commit.id == new.id
    assert millpond.Dataset("given@main").path() != cached
    other = tmp_path / "volume" / ("0" * 64)
    other.mkdir()
    monkeypatch.setenv("MILL_DATA_GIVEN", str(other))
    assert millpond.Dataset("given").commit.id == new.id, "the input is another dataset of the same name"


def test_a_mounted_volume_is_used(server: DataServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = millpond.Dataset("xray")
    volume = tmp_path / dataset.commit.id
    shape = {
        "id": "c1", "volume": "v", "site": "s", "project": "default", "dataset": "xray", "dataset_id": "d",
        "commit_id": dataset.commit.id, "path": str(volume), "state": "ready", "bytes": 1, "files": 1,
        "done_bytes": 1, "done_files": 1, "requested_by": "a", "requested_at": "2026-01-01T00:00:00Z",
        "ready_at": None, "used_at": "2026-01-01T00:00:00Z", "expires_at": None, "pinned": False,
        "leased_by": [], "reason": "", "problem": None,
    }  # fmt: skip
    api = _OneAnswer({"items": [shape], "next": None})
    monkeypatch.setenv("MILL_HOME", str(tmp_path / "home"))
    volume.mkdir()
    held: list[str] = []
    found = local_copy(api, "default", "xray", dataset.commit, hold=lambda cached: held.append(cached.id))  # type: ignore[arg-type]
    assert (found.path, held) == (volume, ["c1"]), "what is read is held"


class _OneAnswer:
    """An Api that lists one cached commit, and takes leases on it."""

    def __init__(self, document: dict[str, object]) -> None:
        self._document = document
        self.sent: list[str] = []

    def send(self, method: str, path: str, shape: type, *_: object, **__: object) -> object:
        self.sent.append(f"{method} {path}")
        return next(self.items(path, shape))

    def items(self, path: str, shape: type, **_: object) -> Iterator[object]:
        return (shape.model_validate(item) for item in self._document["items"])  # type: ignore[attr-defined]


def _fill(directory: Path, started: Path) -> None:
    started.with_name(f"{started.name}-{os.getpid()}").touch()
    (directory / "by").write_text(str(os.getpid()))


def _make(target: Path, started: Path) -> str:
    make_once(target, lambda directory, alive: _fill(directory, started))
    return (target / "by").read_text()


@pytest.mark.long
def test_of_many_processes_one_makes_a_folder(tmp_path: Path) -> None:
    target, started = tmp_path / "a/folder", tmp_path / "started"
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        makers = pool.starmap(_make, [(target, started)] * 12, chunksize=1)
    assert len(set(makers)) == 1
    assert len(list(tmp_path.glob("started-*"))) == 1


def test_a_maker_that_died_is_replaced_and_an_error_leaves_nothing(tmp_path: Path) -> None:
    target = tmp_path / "folder"
    (tmp_path / ".folder.lock").touch()
    made = make_once(target, lambda directory, alive: (directory / "x").touch(), stale=0.2)
    assert (made / "x").exists()

    def fail(directory: Path, alive: object) -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        make_once(tmp_path / "other", fail)
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_those_who_wait_get_what_was_made_meanwhile(tmp_path: Path) -> None:
    target = tmp_path / "folder"
    lock = tmp_path / ".folder.lock"
    lock.touch()
    found: list[Path] = []
    thread = threading.Thread(target=lambda: found.append(make_once(target, _never)))
    thread.start()
    target.mkdir()
    wait_until(lambda: not thread.is_alive(), what="the one who waits")
    assert found == [target]


def _never(directory: Path, alive: object) -> None:
    raise AssertionError("somebody else made it")
