"""Clients and the server are killed while folders go into the lake and come back: no half commit, none lost, and
running the command again goes on without sending what had arrived.

The storm kills at random moments; another test kills the client at every single step, and test_kill_server_steps.py the
server.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import shutil
import sqlite3
import time
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path

import pytest

from millpond.api.listener import bind
from millpond.client.clone import clone
from millpond.client.datasets import create_dataset
from millpond.client.http import Api
from millpond.client.sync import sync
from millpond.client.working_copy import WorkingCopy, require_working_copy
from millpond.testing.lake import Thing
from millpond.testing.up import MillUp, mill_up
from tests.integration.cli import server_here
from tests.integration.dying_client import DIED, die_at
from tests.integration.real_lake import api_of, begin, history, mill, tree

VICTIMS = ("sync", "server", "clone")
UNREACHABLE = 6
MB = 1 << 20


@pytest.fixture
def seed() -> int:
    """Printed with a failure, so that the same storm can be raised again."""
    number = int(os.environ.get("MILL_TEST_SEED") or random.randrange(1 << 32))
    print(f"MILL_TEST_SEED={number}")
    return number


@pytest.mark.timeout(300)
def test_everybody_is_killed_once(tmp_path: Path, seed: int) -> None:
    storm(tmp_path, kills=len(VICTIMS), seed=seed)


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_a_hundred_kills(tmp_path: Path, seed: int) -> None:
    storm(tmp_path, kills=100, seed=seed)


def storm(root: Path, kills: int, seed: int) -> None:
    with ExitStack() as stack:
        lake = Lake(root, stack, seed)
        for number in range(kills):
            lake.change_folder(number)
            lake.kill_and_go_on(VICTIMS[number % len(VICTIMS)])
        lake.check_history()


class Lake:
    """One data directory and port, whatever server lives there at the moment, and a folder that is synced to it."""

    def __init__(self, root: Path, stack: ExitStack, seed: int) -> None:
        self.root, self._stack, self.chance = root, stack, random.Random(seed)
        with bind("127.0.0.1", 0) as free:
            self._port = str(free.getsockname()[1])
        self.folder = root / "pictures"
        self.folder.mkdir()
        self.versions: dict[str, list[Thing]] = {}
        self.up = self.start()
        mill(self.up, self.folder, "data", "init")

    def start(self) -> MillUp:
        self.up = self._stack.enter_context(mill_up(self.root / "data", "--port", self._port, "--no-agent"))
        return self.up

    def change_folder(self, number: int) -> None:
        """More than one pack of new content, small files that change, and small files that stay."""
        for name in range(4):
            (self.folder / f"large-{name}.bin").write_bytes(self.chance.randbytes(9 * MB))
        for name in range(100):
            path = self.folder / f"{number % 5}" / f"{name}.txt"
            path.parent.mkdir(exist_ok=True)
            path.write_text(f"{number}-{name}")

    def kill_and_go_on(self, victim: str) -> None:
        if victim == "clone":
            self.sync()
            self.kill_clone()
            return
        before = list(self.versions)[-1:]
        running = begin(self.up, self.folder, "data", "sync", "--json")
        time.sleep(self.chance.uniform(0.2, 1.6))  # the moment is the point: it waits for nothing
        if victim == "sync":
            running.kill()
            running.communicate()
        else:
            self.up.kill()
            self.start()
            _, said = running.communicate(timeout=90)
            assert running.returncode in (0, UNREACHABLE), said
        arrived = self.arrived()
        heads = self.history()[:1]
        newest = self.sync()
        assert heads in (before, [newest]), "the branch is where it was, or at the whole new commit"
        sent = {pack: digests for pack, digests in self.arrived().items() if pack not in arrived}
        both = set[bytes]().union(*sent.values()) & set[bytes]().union(*arrived.values())
        assert not both, "what had arrived was sent again"

    def kill_clone(self) -> None:
        target = self.root / "copy"
        running = begin(self.up, self.root, "data", "clone", "pictures", str(target))
        time.sleep(self.chance.uniform(0.2, 1.2))  # as above
        running.kill()
        running.communicate()
        if target.exists():
            assert tree(target) == tree(self.folder), "what stands in its place is whole"
            shutil.rmtree(target)
        mill(self.up, self.root, "data", "clone", "pictures", str(target))
        assert tree(target) == tree(self.folder)
        assert list(self.root.glob(".copy.*")) == [], "what a killed clone left is tidied away by the next"
        shutil.rmtree(target)

    def sync(self) -> str:
        with api_of(self.up) as api:
            newest = sync(api, require_working_copy(self.folder)).commit.id
        self.versions[newest] = tree(self.folder)
        return newest

    def arrived(self) -> dict[str, set[bytes]]:
        """The digests in each pack the server knows to be there."""
        with closing(sqlite3.connect(self.root / "data" / "millpond.db")) as db:
            found: dict[str, set[bytes]] = {}
            for pack, digest in db.execute(
                "SELECT pack_id, digest FROM blob JOIN pack ON pack.id = pack_id WHERE state = 'live'"
            ):
                found.setdefault(pack, set()).add(digest)
        return found

    def history(self) -> list[str]:
        with api_of(self.up) as api:
            return history(api, "pictures")

    def check_history(self) -> None:
        """Every version there ever was is there once; some of them, and the newest, come back bit for bit."""
        assert self.history() == list(reversed(self.versions)), "none lost, none twice"
        with api_of(self.up) as api:
            for commit in {*self.chance.sample(list(self.versions), 2), list(self.versions)[-1]}:
                clone(api, "default", "pictures", commit, self.root / commit)
                assert tree(self.root / commit) == self.versions[commit]
                shutil.rmtree(self.root / commit)


@pytest.mark.parametrize("stride", [5, pytest.param(1, marks=pytest.mark.long)])
def test_a_client_that_dies_at_every_step(tmp_path: Path, stride: int, seed: int) -> None:
    """Before and after each request and each note it makes: the branch moves wholly or not at all, and the next run
    finishes, on this machine or on another. Every round is a new version, so every round has all steps."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.integration.dying_client"])
    with server_here(tmp_path) as server, api_of(server) as api:
        folder = tmp_path / "folder"
        dataset = create_dataset(api, "default", "steps")
        WorkingCopy(folder, api.base_url, "default", "steps", dataset.id).save()
        status, fatal, heads = DIED, seed % stride, 0
        while status == DIED:
            version(folder, fatal)
            status = run(context, folder, api.token or "", fatal)
            assert status in (0, DIED)
            made = len(history(api, "steps"))
            assert made in (heads, heads + 1)
            sync_elsewhere(api, folder) if fatal % 2 else sync(api, require_working_copy(folder))
            heads += 1
            assert len(history(api, "steps")) == heads, "one commit for each version, whatever step it died at"
            clone(api, "default", "steps", "main", tmp_path / "copy")
            assert tree(tmp_path / "copy") == tree(folder)
            shutil.rmtree(tmp_path / "copy")
            fatal += stride
    assert fatal > 20, "there are that many steps"


def sync_elsewhere(api: Api, folder: Path) -> None:
    """From a machine with the same files that knows nothing but the commit they were made from."""
    other = folder.with_name("elsewhere")
    shutil.copytree(folder, other, ignore=shutil.ignore_patterns(".mill"))
    done = sync(api, replace(require_working_copy(folder), root=other))
    require_working_copy(folder).at(done.commit.id).save()
    shutil.rmtree(other)


def version(folder: Path, number: int) -> None:
    """New content for two packs."""
    chance = random.Random(number)
    for name in range(4):
        (folder / f"{name}.bin").write_bytes(chance.randbytes(40_000))


def run(context: multiprocessing.context.ForkServerContext, folder: Path, token: str, fatal: int) -> int | None:
    process = context.Process(target=die_at, args=(folder, token, fatal))
    process.start()
    process.join(60)
    return process.exitcode
