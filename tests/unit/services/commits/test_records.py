"""Records of the lake: reserved, written, visible, whatever crashes in between."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from datetime import timedelta

import pytest

from millpond.blobs.memory import MemoryStore
from millpond.blobs.store import Buffer
from millpond.db import datasets as rows
from millpond.errors import NameTaken, NotFound, RefMoved, StoreUnavailable
from millpond.lake.keys import ProjectKeys
from millpond.services.commits import records
from millpond.services.datasets import datasets
from millpond.services.deps import Deps
from millpond.testing.builders_data import a_commit, a_dataset, the_admin, the_project
from millpond.testing.clock import FakeClock


class FailingStore(MemoryStore):
    """Refuses to write dataset records while `fails`: as if the server had crashed between the two transactions."""

    fails = True

    def put(self, key: str, data: Buffer, *, if_absent: bool = False) -> None:
        if self.fails and "/datasets/" in key:
            raise StoreUnavailable("The store is away.")
        super().put(key, data, if_absent=if_absent)


def history(deps: Deps, dataset_id: str) -> list[dict[str, object]]:
    """The dataset's records as they stand in the lake."""
    prefix = ProjectKeys(the_project(deps).id).records(dataset_id)
    return [json.loads(deps.store.get(info.key)) for info in deps.store.list(prefix)]


def test_every_change_is_a_numbered_record(deps: Deps) -> None:
    first = a_commit(deps, {"a": b"1"})
    second = a_commit(deps, {"a": b"2"})
    dataset = a_dataset(deps)
    datasets.change(deps, the_admin(deps), dataset, name="scans", description=None)
    found = history(deps, dataset.id)
    assert [(record["n"], record["op"]) for record in found] == [(0, "create"), (1, "move"), (2, "move"), (3, "rename")]
    assert (found[2]["commit"], found[2]["previous"]) == (second.id, first.id)


def test_what_a_crash_left_is_finished_at_the_next_start(deps: Deps) -> None:
    store = FailingStore()
    broken = replace(deps, store=store)
    project = the_project(deps)
    with pytest.raises(StoreUnavailable):
        datasets.create(broken, the_admin(deps), project, name="xray")
    with deps.db.read() as tx, pytest.raises(NotFound):
        datasets.find(tx, project, "xray")
    store.fails = False
    assert records.finish_pending(broken) == 1
    with deps.db.read() as tx:
        found = datasets.find(tx, project, "xray")
    assert [record["op"] for record in history(broken, found.id)] == ["create"]
    assert records.finish_pending(broken) == 0


def test_a_name_reserved_by_a_crash_is_finished_and_then_taken(deps: Deps) -> None:
    store = FailingStore()
    broken = replace(deps, store=store)
    with pytest.raises(StoreUnavailable):
        datasets.create(broken, the_admin(deps), the_project(deps), name="xray")
    store.fails = False
    with pytest.raises(NameTaken):
        datasets.create(broken, the_admin(deps), the_project(deps), name="xray")
    with deps.db.read() as tx:
        datasets.find(tx, the_project(deps), "xray")


def test_a_rename_that_crashed_keeps_its_new_name_from_others(deps: Deps) -> None:
    store = FailingStore()
    store.fails = False
    broken = replace(deps, store=store)
    old = datasets.create(broken, the_admin(deps), the_project(deps), name="old")
    store.fails = True
    with pytest.raises(StoreUnavailable):
        datasets.change(broken, the_admin(deps), old, name="new", description=None)
    store.fails = False
    with pytest.raises(NameTaken):
        datasets.create(broken, the_admin(deps), the_project(deps), name="new")
    with deps.db.read() as tx:
        assert datasets.find(tx, the_project(deps), "new").id == old.id


def test_housekeeping_leaves_fresh_records_to_those_who_write_them(deps: Deps, clock: FakeClock) -> None:
    store = FailingStore()
    broken = replace(deps, store=store)
    with pytest.raises(StoreUnavailable):
        datasets.create(broken, the_admin(deps), the_project(deps), name="xray")
    store.fails = False
    assert records.finish_pending(broken, older_than=timedelta(seconds=30)) == 0
    clock.advance(31)
    assert records.finish_pending(broken, older_than=timedelta(seconds=30)) == 1


def test_finishing_twice_is_once(deps: Deps) -> None:
    store = FailingStore()
    broken = replace(deps, store=store)
    with pytest.raises(StoreUnavailable):
        datasets.create(broken, the_admin(deps), the_project(deps), name="xray")
    store.fails = False
    with deps.db.read() as tx:
        (pending,) = rows.pending(tx)
    records.finish(broken, pending)
    records.finish(broken, pending)
    with deps.db.read() as tx:
        assert rows.pending(tx) == []


def test_many_who_commit_at_once_make_one_history(deps: Deps) -> None:
    a_commit(deps, {"a": b"0"})
    moved: list[str] = []

    def commit(number: int) -> None:
        for attempt in range(50):
            try:
                a_commit(deps, {"a": b"%d.%d" % (number, attempt)})
            except RefMoved:
                moved.append("again")
                continue
            return

    threads = [threading.Thread(target=commit, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = [record for record in history(deps, a_dataset(deps).id) if record["op"] == "move"]
    assert len(found) == 5
    assert [record["n"] for record in found] == [1, 2, 3, 4, 5]
    assert [record["previous"] for record in found[1:]] == [record["commit"] for record in found[:-1]]
