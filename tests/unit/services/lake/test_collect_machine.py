"""Invariant 1 against uploads, deletions, rules and collections at any step: every commit there is can be read."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from millpond.db import collecting as collecting_rows
from millpond.db import commits as commit_rows
from millpond.errors import InUse, NameTaken, NotFound
from millpond.services.datasets import dataset_bin, datasets
from millpond.services.lake import collect
from millpond.settings import Settings
from millpond.testing.builders_data import a_dataset, the_admin, the_project
from millpond.testing.clock import FakeClock
from millpond.testing.events import FakeEvents
from millpond.testing.server import making_deps
from tests.unit.services.lake.collect_steps import REFUSED, TOO_LATE, Uploading, collecting, drive
from tests.unit.services.lake.reading_all import read_all

NAMES = st.sampled_from(["one", "two"])
# Few contents, so that uploads share them with what is being removed.
FILES = st.dictionaries(st.sampled_from("abc"), st.sampled_from([b"1", b"22", b"333"]), min_size=1, max_size=3)


class Collecting(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.closing = ExitStack()
        self.uploads: list[tuple[Uploading, Iterator[str]]] = []
        self.collections: list[Iterator[str]] = []

    @initialize()
    def begin(self) -> None:
        folder = self.closing.enter_context(tempfile.TemporaryDirectory())
        self.clock = FakeClock()
        made = making_deps(Settings(data_dir=Path(folder)), clock=self.clock, events=FakeEvents())
        self.deps = self.closing.enter_context(made)
        self.admin = the_admin(self.deps)
        self.content: dict[str, dict[str, bytes]] = {}

    @rule(name=NAMES, files=FILES)
    def sync(self, name: str, files: dict[str, bytes]) -> None:
        """All at once; refused as a client would be, it sends again."""
        client = Uploading(self.deps, self.admin, files, name)
        for _ in range(3):
            with suppress(*REFUSED):
                list(client.steps())
                break
        self.note(client)

    @precondition(lambda self: len(self.uploads) < 3)
    @rule(name=NAMES, files=FILES)
    def begin_upload(self, name: str, files: dict[str, bytes]) -> None:
        client = Uploading(self.deps, self.admin, files, name)
        self.uploads.append((client, client.steps()))

    @precondition(lambda self: self.uploads)
    @rule(number=st.integers(0, 2), steps=st.integers(1, 3))
    def go_on_uploading(self, number: int, steps: int) -> None:
        client, upload = self.uploads[number % len(self.uploads)]
        more = True
        with suppress(*REFUSED, *TOO_LATE):
            for _ in range(steps):
                more = more and drive(upload)
            if more:
                return
        self.uploads.remove((client, upload))
        self.note(client)

    @precondition(lambda self: not self.collections)
    @rule()
    def begin_collection(self) -> None:
        self.collections.append(collecting(self.deps))

    @precondition(lambda self: self.collections)
    @rule(steps=st.integers(1, 3))
    def go_on_collecting(self, steps: int) -> None:
        for _ in range(steps):
            if self.collections and not drive(self.collections[0]):
                self.collections.clear()

    @precondition(lambda self: self.collections)
    @rule()
    def kill_the_collection(self) -> None:
        self.collections.clear()

    @rule()
    def collect_at_once(self) -> None:
        collect.collect(self.deps, self.admin, now=True)

    @rule(days=st.sampled_from([0.1, 2.0, 8.0, 31.0]))
    def wait(self, days: float) -> None:
        self.clock.advance(days * 86_400)

    @rule(name=NAMES)
    def delete(self, name: str) -> None:
        datasets.delete(self.deps, self.admin, a_dataset(self.deps, name))

    @rule(name=NAMES)
    def undelete(self, name: str) -> None:
        with suppress(NotFound, NameTaken):
            dataset_bin.undelete(self.deps, self.admin, the_project(self.deps), name)

    @rule(name=NAMES)
    def purge(self, name: str) -> None:
        with suppress(NotFound, InUse):
            dataset_bin.purge(self.deps, self.admin, the_project(self.deps), name)

    @rule(name=NAMES, keep=st.sampled_from([None, 1, 2]))
    def set_rule(self, name: str, keep: int | None) -> None:
        rule_ = {"keep_last": keep} if keep else None
        dataset_bin.set_retention(self.deps, self.admin, a_dataset(self.deps, name), rule_)

    @invariant()
    def every_commit_can_be_read(self) -> None:
        if not hasattr(self, "deps"):
            return
        with self.deps.db.read() as tx:
            seen = collecting_rows.datasets_of(tx, the_project(self.deps).id)
            rows = [row.commit.id for found in seen for row in collecting_rows.commits_of(tx, found.id)]
            there = commit_rows.get_many(tx, rows)
        dataset = a_dataset(self.deps, "any")
        for commit in there:
            assert read_all(self.deps, dataset, commit) == self.content[commit.id]

    def note(self, client: Uploading) -> None:
        if client.commit is not None:
            self.content[client.commit.id] = dict(client.files)

    def teardown(self) -> None:
        self.collections.clear()
        self.uploads.clear()
        if hasattr(self, "deps"):
            for _ in range(2):
                self.clock.advance(40 * 86_400)
                collect.collect(self.deps, self.admin, now=True)
            self.every_commit_can_be_read()
        self.closing.close()


TestCollecting = Collecting.TestCase
TestCollecting.settings = settings(max_examples=settings.default.max_examples // 4, stateful_step_count=30)
