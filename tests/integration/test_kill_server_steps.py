"""The server is killed at each single step of what it does with a commit, and of collecting what nothing needs.

After each: the branch moved wholly or not at all; the next server needs no repair; the command, run again here or on
another machine, makes the commit once and sends nothing again that had arrived.
"""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import pytest

from millpond.client import transfer
from millpond.client.clone import clone
from millpond.client.dataset_bin import purge_dataset
from millpond.client.datasets import create_dataset, delete_dataset
from millpond.client.edits import put_files
from millpond.client.http import Api
from millpond.client.lake_care import collect
from millpond.client.people import create_user, login, put_member
from millpond.client.sync import sync
from millpond.client.working_copy import WorkingCopy
from millpond.errors import MillError, NotFound, NotReady
from millpond.model.people import Role
from millpond.retry import RetryPolicy
from millpond.testing.waiting import wait_until
from millpond.wire.people import UserCreate
from tests.integration.dying_server import DyingServer, dying_server
from tests.integration.real_lake import history, tree

NAME = "steps"
PASSWORD = "correct horse battery"


@pytest.fixture(autouse=True)
def no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that gives up at once, and is run again."""
    monkeypatch.setattr(transfer, "RetryPolicy", lambda **_: RetryPolicy(attempts=1))


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    with ExitStack() as stack:
        yield Lake(tmp_path, stack)


@pytest.mark.parametrize("stride", [6, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.timeout(900)
def test_at_every_step_of_a_sync(lake: Lake, stride: int) -> None:
    lake.sync_new(0)
    lake.check(made=1)
    steps = lake.steps_of(lambda: lake.sync_new(1))
    lake.check(made=1)
    for kind in (
        "writing to packs",
        "writing to pages",
        "writing to locators",
        "writing to commits",
        "writing to datasets",
    ):
        assert f"before {kind}" in steps
    for number, step in enumerate(some(steps, stride), start=2):
        lake.change(number)
        arrived = lake.killed_at(step, lake.sync)
        lake.start()
        lake.check_head()
        lake.sync_elsewhere() if number % 2 else lake.sync()
        lake.check(made=1)
        lake.check_nothing_came_twice(arrived)


@pytest.mark.parametrize("stride", [pytest.param(13, marks=pytest.mark.long), pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.timeout(900)
def test_at_every_step_of_a_put_onto_what_somebody_else_sent(lake: Lake, stride: int) -> None:
    """Packs of others are read and checked for it."""
    lake.sync_new(0)
    lake.check(made=1)
    steps = lake.steps_of(lambda: lake.put_as_paul(0))
    lake.check(made=1)
    assert "before the end of verify.verify's transaction" in steps
    for number, step in enumerate(some(steps, stride), start=1):
        lake.sync_new(number)
        lake.check(made=1)
        lake.killed_at(step, lambda: lake.put_as_paul(number))  # noqa: B023
        lake.start()
        lake.check_head()
        lake.put_as_paul(number)
        lake.check(made=1)


@pytest.mark.parametrize("stride", [pytest.param(13, marks=pytest.mark.long), pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.timeout(900)
def test_at_every_step_of_a_collection(lake: Lake, stride: int) -> None:
    lake.sync_new(0)
    lake.check(made=1)
    lake.leave_something_behind(0)
    steps = lake.steps_of(lambda: lake.collect(0))
    for kind in ("packs", "pages", "locators", "commits", "datasets"):
        assert f"before removing from {kind}" in steps
    for number, step in enumerate(some(steps, stride), start=1):
        lake.leave_something_behind(number)
        lake.killed_at(step, lambda: lake.collect(number))  # noqa: B023
        lake.start()
        lake.collect(number)
        lake.check(made=0)
        lake.check_only_what_is_needed()


def some(steps: list[str], stride: int) -> list[str]:
    """Each so many-th, beginning at another one each time; printed with a failure."""
    chosen = steps[random.randrange(stride) :: stride]
    print(*chosen, sep="\n")
    return chosen


class Lake:
    """One data directory, whatever server lives on it, a folder here, and the same folder on another machine."""

    def __init__(self, root: Path, stack: ExitStack) -> None:
        self.root, self._stack = root, stack
        self.folder = root / "here"
        self.folder.mkdir()
        self.heads: list[str] = []
        self.start()
        self.dataset_id = create_dataset(self.api, "default", NAME).id
        create_user(self.api, UserCreate(name="paul", password=PASSWORD))
        put_member(self.api, "default", "paul", Role.MEMBER)
        with Api(self.server.url) as nobody:
            self.paul = login(nobody, "paul", PASSWORD, token_name="test").secret

    def start(self) -> None:
        """What is there now is what the one before left."""
        self.server: DyingServer = self._stack.enter_context(dying_server(self.root / "data"))
        self.api = self._stack.enter_context(Api(self.server.url, self.server.token, patience=0.0))

    def steps_of(self, act: Callable[[], object]) -> list[str]:
        self.server.die_at(None)
        act()
        return self.server.die_at(None)

    def killed_at(self, step: str, act: Callable[[], object]) -> dict[str, set[bytes]]:
        """What had arrived when the server was gone."""
        self.server.die_at(step)
        with suppress(MillError):
            act()
        wait_until(self.server.is_dead, what=f"the end of the server at {step!r}")
        return self.arrived()

    def change(self, number: int) -> None:
        """New content for two files, one that stays, and a new name."""
        chance = random.Random(number)
        for name in ("a", "b"):
            (self.folder / name).write_bytes(chance.randbytes(30_000))
        (self.folder / "same").write_bytes(b"as it was")
        (self.folder / f"new-{number}").write_bytes(b"")

    def sync(self, folder: Path | None = None) -> None:
        root = folder or self.folder
        head = self.heads[-1] if self.heads else None
        sync(self.api, WorkingCopy(root, self.server.url, "default", NAME, self.dataset_id, head=head))

    def sync_new(self, number: int) -> None:
        self.change(number)
        self.sync()

    def sync_elsewhere(self) -> None:
        """The same files on a machine that has never seen this server."""
        other = self.root / "there"
        shutil.copytree(self.folder, other, ignore=shutil.ignore_patterns(".mill"))
        self.sync(other)
        shutil.rmtree(other)

    def put_as_paul(self, number: int) -> None:
        one = self.folder / "put"
        one.write_bytes(random.Random(-number - 1).randbytes(1000))
        with Api(self.server.url, self.paul, patience=0.0) as api:
            put_files(api, "default", NAME, {"put": one})

    def leave_something_behind(self, number: int) -> None:
        """A dataset in the bin, with content of its own."""
        one = self.root / "one"
        one.write_bytes(random.Random(1000 + number).randbytes(1000))
        create_dataset(self.api, "default", f"gone-{number}")
        put_files(self.api, "default", f"gone-{number}", {"one": one})
        delete_dataset(self.api, "default", f"gone-{number}")

    def collect(self, number: int) -> None:
        with suppress(NotFound):  # purged before the server was killed
            purge_dataset(self.api, "default", f"gone-{number}")
        wait_until(self.is_collected, what="a collection beside that of the housekeeping")

    def is_collected(self) -> bool:
        try:
            collect(self.api, dry_run=False, now=True)
        except NotReady:
            return False
        return True

    def check_head(self) -> None:
        found = history(self.api, NAME)
        assert self.heads[::-1] in (found, found[1:]), "the branch is where it was, or at the whole new commit"

    def check(self, *, made: int) -> None:
        """The newest commit comes back bit for bit, and the history is all commits there ever were, once each."""
        found = history(self.api, NAME)
        assert found[made:] == self.heads[::-1], "none lost, none twice"
        self.heads.extend(found[:made])
        target = self.root / "copy"
        clone(self.api, "default", NAME, "main", target)
        assert tree(target) == tree(self.folder)
        shutil.rmtree(target)

    def check_nothing_came_twice(self, arrived: dict[str, set[bytes]]) -> None:
        sent = [digests for pack, digests in self.arrived().items() if pack not in arrived]
        assert not set[bytes]().union(*sent) & set[bytes]().union(*arrived.values()), "what had arrived was sent again"

    def check_only_what_is_needed(self) -> None:
        """Each pack in the lake has a row, and each row its pack."""
        lying = {path.name for path in (self.root / "data" / "lake").glob("projects/*/packs/*/*")}
        assert lying == self.arrived().keys()

    def arrived(self) -> dict[str, set[bytes]]:
        """The digests in each pack the server knows to be there."""
        query = "SELECT pack_id, digest FROM blob JOIN pack ON pack.id = pack_id WHERE state = 'live'"
        found: dict[str, set[bytes]] = {}
        with closing(sqlite3.connect(self.root / "data" / "millpond.db")) as db:
            for pack, digest in db.execute(query):
                found.setdefault(pack, set()).add(digest)
        return found
