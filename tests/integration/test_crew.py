"""Fetching with processes of a crew gives the same trees and the same errors as without."""

from __future__ import annotations

import itertools
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import psutil
import pytest

from millpond.client.transfer import ApiDownloader
from millpond.errors import Corrupt, MillError, VolumeProblem
from millpond.lake import fetch
from millpond.lake.fetch import FetchOptions, fetch_tree
from millpond.lake.target import CACHED_MTIME_NS
from millpond.lake.transfer import Meter, Moved
from millpond.testing.waiting import wait_until
from millpond.wire.data import Commit
from tests.integration.data_server import DataServer, data_server
from tests.workers import workers

CREW = FetchOptions(processes=2)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DataServer]:
    with data_server(tmp_path_factory.mktemp("crew")) as running:
        yield running


@pytest.fixture(scope="module")
def commit(data: DataServer, tmp_path_factory: pytest.TempPathFactory) -> Commit:
    folder = tmp_path_factory.mktemp("folder")
    for number in range(300):
        path = folder / f"part-{number % 7}" / f"{number}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(f"content {number % 250}".encode() * (number % 90))
    (folder / "part-0" / "run").write_bytes(b"#!/bin/sh\n")
    (folder / "part-0" / "run").chmod(0o755)
    (folder / "link").symlink_to("part-0/run")
    (folder / "empty").mkdir()
    (folder / "large").write_bytes(os.urandom(1 << 20) * 20)
    return data.commit(folder, "tree")


def source_of(data: DataServer, commit: Commit) -> ApiDownloader:
    return ApiDownloader(data.api, "default", "tree", commit.id)


def described(root: Path) -> dict[str, tuple[int, bytes]]:
    found: dict[str, tuple[int, bytes]] = {}
    for path in sorted(root.rglob("*")):
        mode = path.lstat().st_mode
        link = os.fsencode(path.readlink()) if path.is_symlink() else b""
        found[str(path.relative_to(root))] = (mode, link or (path.read_bytes() if stat.S_ISREG(mode) else b""))
    return found


@pytest.mark.parametrize("read_only", [False, True])
def test_the_same_tree(data: DataServer, commit: Commit, tmp_path: Path, read_only: bool) -> None:
    seen: list[Moved] = []
    for name, count in (("alone", 0), ("crew", 2)):
        options = FetchOptions(read_only=read_only, processes=count)
        with source_of(data, commit) as source:
            fetch_tree(source, commit.tree, tmp_path / name, options=options, progress=seen.append)
        assert (seen[-1].files, seen[-1].bytes) == (commit.files + 1, commit.bytes), "files, and the empty directory"
    assert described(tmp_path / "alone") == described(tmp_path / "crew")
    if read_only:
        assert all(path.lstat().st_mtime_ns == CACHED_MTIME_NS for path in (tmp_path / "crew").rglob("*"))
    assert not workers(), "no process is left behind"


@pytest.mark.parametrize("processes", [0, 2])
def test_progress_comes_in_small_steps(
    data: DataServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, processes: int
) -> None:
    monkeypatch.setattr(fetch, "Meter", partial(Meter, interval=0.0))
    folder = tmp_path / "folder"
    folder.mkdir()
    for number in range(120):
        (folder / f"{number:03d}").write_bytes(os.urandom(100_000))
    commit = data.commit(folder, f"steps-{processes}")
    sent: list[int] = [0]
    with ApiDownloader(data.api, "default", f"steps-{processes}", commit.id) as source:
        options = FetchOptions(processes=processes)
        fetch_tree(source, commit.tree, tmp_path / "copy", options=options, progress=lambda now: sent.append(now.sent))
    assert max(after - before for before, after in itertools.pairwise(sent)) < 2 << 20
    assert 12_000_000 <= sent[-1] < 12_100_000


def test_urls_that_have_expired_are_renewed(data: DataServer, commit: Commit, tmp_path: Path) -> None:
    class Expiring(ApiDownloader):
        def pack_url(self, pack_id: str) -> str:
            return super().pack_url(pack_id).replace("expires=", "expires=1")

    with Expiring(data.api, "default", "tree", commit.id) as source:
        source.page(commit.tree)
        fetch_tree(source, commit.tree, tmp_path / "target", options=CREW)
    assert len(described(tmp_path / "target")) > 300


def test_damage_is_found(data: DataServer, commit: Commit, tmp_path: Path) -> None:
    store = data.server.deps.store
    whole = {info.key: store.get(info.key) for info in store.list() if "/packs/" in info.key}
    try:
        for key, content in whole.items():
            store.put(key, bytes([content[0] ^ 1]) + content[1:])
        with source_of(data, commit) as source, pytest.raises(Corrupt):
            fetch_tree(source, commit.tree, tmp_path / "target", options=CREW)
    finally:
        for key, content in whole.items():
            store.put(key, content)


def test_a_file_in_the_way(data: DataServer, commit: Commit, tmp_path: Path) -> None:
    """Somebody else writes into the target: what is there is never overwritten."""
    target = tmp_path / "target"

    class Intruder(ApiDownloader):
        def pack_url(self, pack_id: str) -> str:
            for number in range(7):
                with_in = target / f"part-{number}"
                for name in ("1.txt", "2.txt", "3.txt", "4.txt", "5.txt", "6.txt", "7.txt"):
                    if with_in.is_dir() and not (with_in / name).exists():
                        (with_in / name).write_bytes(b"not ours")
            return super().pack_url(pack_id)

    with Intruder(data.api, "default", "tree", commit.id) as source, pytest.raises(MillError, match="already exists"):
        fetch_tree(source, commit.tree, target, options=CREW)


def test_a_process_that_is_killed(data: DataServer, commit: Commit, tmp_path: Path) -> None:
    lock, killed = threading.Lock(), []

    class Killer(ApiDownloader):
        def pack_url(self, pack_id: str) -> str:
            with lock:
                if not killed:
                    wait_until(lambda: len(workers()) == 2)
                    killed.extend(workers())
                    for member in killed:
                        member.kill()
            return super().pack_url(pack_id)

    with Killer(data.api, "default", "tree", commit.id) as source, pytest.raises(VolumeProblem, match="ended before"):
        fetch_tree(source, commit.tree, tmp_path / "target", options=CREW)
    assert not workers()


# A program without threads, so that the members of its crew are copies of it.
CLONING = """
import os, sys
from pathlib import Path
from millpond.client.http import Api
from millpond.client.transfer import ApiDownloader
from millpond.lake.fetch import FetchOptions, fetch_tree

url, token, commit, tree, target, stop = sys.argv[1:]

class Source(ApiDownloader):
    def pack_url(self, pack_id):
        if stop:
            print(*Path(f"/proc/self/task/{os.getpid()}/children").read_text().split(), flush=True)
            sys.stdin.read()
        return super().pack_url(pack_id)

with Api(url, token) as api, Source(api, "default", "tree", commit) as source:
    fetch_tree(source, tree, Path(target), options=FetchOptions(processes=2))
"""


def cloning(data: DataServer, commit: Commit, target: Path, stop: str = "") -> list[str]:
    token = data.api.token or ""
    return [sys.executable, "-c", CLONING, data.api.base_url, token, commit.id, commit.tree, str(target), stop]


def test_copies_of_a_process_give_the_same_tree(data: DataServer, commit: Commit, tmp_path: Path) -> None:
    subprocess.run(cloning(data, commit, tmp_path / "crew"), check=True, timeout=120)
    with source_of(data, commit) as source:
        fetch_tree(source, commit.tree, tmp_path / "alone", options=FetchOptions(processes=0))
    assert described(tmp_path / "alone") == described(tmp_path / "crew")


def test_copies_end_with_the_process(data: DataServer, commit: Commit, tmp_path: Path) -> None:
    arguments = cloning(data, commit, tmp_path / "target", "stop")
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
        assert program.stdout is not None
        members = [psutil.Process(int(pid)) for pid in program.stdout.readline().split()]
        assert len(members) == 2
        assert all("writer_process" not in " ".join(member.cmdline()) for member in members)
        program.kill()
    _, left = psutil.wait_procs(members, timeout=60)
    assert not left
