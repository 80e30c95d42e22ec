"""A store that fails in every way between clients and server: tried again where it helps, said clearly otherwise,
and never a wrong byte."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from sqlalchemy import select

from millpond.blobs.location import open_store
from millpond.client import transfer
from millpond.client.clone import clone
from millpond.client.datasets import create_dataset
from millpond.client.file_reader import read_file
from millpond.client.http import Api
from millpond.client.sync import sync
from millpond.client.verify import Depth, verify_lake
from millpond.client.working_copy import WorkingCopy, require_working_copy
from millpond.db.tables.data import pack
from millpond.errors import BadFormat, Corrupt, Forbidden, MillError, StoreUnavailable
from millpond.lake import crew, fetch_orders, http, store_retry
from millpond.lake.range_reader import Timeouts
from millpond.retry import RetryPolicy
from millpond.services.commits.packs import verify
from millpond.testing.faults import (
    Fault,
    FaultyProxy,
    answers,
    corrupts,
    corrupts_the_request,
    drips,
    faulty_proxy,
    hangs,
    loses_the_answer,
    resets,
    shortens,
    truncates,
)
from millpond.testing.seaweed import CREDENTIALS, Seaweed
from millpond.testing.server import ADMIN, RunningServer, running_server
from tests.integration.real_lake import tree

# What may pass, at whichever request it happens.
PASSING = {
    "503 with advice": answers(503, Retry_After="1"),
    "a reset": resets,
    "a lost answer": loses_the_answer,
    "a short answer": shortens,
}
PASSING_TOO = {
    "500": answers(500),
    "a timeout": hangs(1.1),
    "a truncated body": truncates,
    "a slow drip": drips(0.5),
}
# A clock that is off, as the store tells it.
SKEWED = answers(403)


@dataclass
class Faulty:
    """A server whose lake lies behind the proxy, and a client of it."""

    server: RunningServer
    api: Api
    proxy: FaultyProxy
    root: Path

    def folder(self) -> Path:
        folder = self.root / "folder"
        folder.mkdir(exist_ok=True)
        for number in range(30):
            (folder / f"{number}.bin").write_bytes(os.urandom(20_000))
        if not (folder / ".mill").exists():
            dataset = create_dataset(self.api, "default", "folder")
            WorkingCopy(folder, self.server.url, "default", "folder", dataset.id).save()
        return folder

    def sync(self) -> Path:
        folder = self.folder()
        sync(self.api, require_working_copy(folder))
        return folder

    def clone(self, name: str = "copy") -> Path:
        clone(self.api, "default", "folder", "main", self.root / name)
        return self.root / name


@pytest.fixture
def faulty(seaweed: Seaweed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Faulty]:
    """With short patience, as the tests' own is."""
    monkeypatch.setattr(http, "Timeouts", lambda: Timeouts(connect=2.0, read=1.0))
    monkeypatch.setattr(store_retry, "_LONGEST_ADVICE", 0.1)
    with faulty_proxy(seaweed.endpoint) as proxy:
        store = open_store(replace(seaweed, endpoint=proxy.endpoint).url(tmp_path.name), environment=CREDENTIALS)
        with running_server(tmp_path / "server", store=store) as server, Api(server.url, server.token_of(ADMIN)) as api:
            yield Faulty(server, api, proxy, tmp_path)


@pytest.mark.parametrize(
    "fault",
    [
        *(pytest.param(fault, id=name) for name, fault in PASSING.items()),
        *(pytest.param(fault, id=name, marks=pytest.mark.long) for name, fault in PASSING_TOO.items()),
    ],
)
def test_passing_faults_of_every_request_are_outlived(faulty: Faulty, fault: Fault) -> None:
    """Packs and pages on their way up, what the server reads and writes itself, and everything on its way down."""
    for method in ("PUT", "GET", "HEAD"):
        faulty.proxy.fail(fault, times=2, method=method)
    folder = faulty.sync()
    faulty.proxy.heal()
    for part in ("/pages/", "/locators/", "/packs/"):
        faulty.proxy.fail(fault, times=1, method="GET", part=part)
    assert tree(faulty.clone()) == tree(folder)
    assert faulty.proxy.left == 0


def test_bytes_damaged_on_the_way_down_are_read_again(faulty: Faulty) -> None:
    folder = faulty.sync()
    for part in ("/pages/", "/locators/", "/packs/"):
        faulty.proxy.fail(corrupts, times=1, method="GET", part=part)
    assert tree(faulty.clone()) == tree(folder)
    assert faulty.proxy.left == 0


def test_processes_that_write_outlive_the_same(faulty: Faulty, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crew, "_LEAST_FILES", 1)
    folder = faulty.sync()
    for fault in (resets, truncates, answers(500), corrupts):
        faulty.proxy.fail(fault, method="GET", part="/packs/")
    assert tree(faulty.clone("first")) == tree(folder)
    faulty.proxy.fail(SKEWED, method="GET", part="/packs/")
    assert tree(faulty.clone("second")) == tree(folder)
    assert faulty.proxy.left == 0
    faulty.proxy.fail(corrupts, times=1000, method="GET", part="/packs/")
    with pytest.raises(Corrupt):
        faulty.clone("third")
    assert not (faulty.root / "third").exists()


def test_what_the_server_reads_is_read_again_before_anything_is_called_damaged(faulty: Faulty) -> None:
    folder = faulty.sync()
    for part in ("/pages/", "/locators/", "/packs/"):
        faulty.proxy.fail(corrupts, times=1, method="GET", part=part)
    found = b"".join(read_file(faulty.api, "default", "folder", "main", "7.bin"))
    assert found == (folder / "7.bin").read_bytes()
    faulty.proxy.fail(corrupts, times=1, method="GET", part="/packs/")
    faulty.proxy.fail(corrupts, times=1, method="GET", part="/commits/")
    assert verify.verify_some(faulty.server.deps) > 0
    checked = verify_lake(faulty.api, "default", "folder", "main", depth=Depth.FULL)
    assert checked.problems == []
    with faulty.server.deps.db.read() as tx:
        packs = list(tx.execute(select(pack.c.state, pack.c.problem)))
    assert {tuple(row) for row in packs} == {("live", None)}


@pytest.mark.parametrize("part", ["/pages/", "/locators/", "/packs/"])
def test_bytes_that_stay_damaged_are_never_delivered(faulty: Faulty, part: str) -> None:
    faulty.sync()
    faulty.proxy.fail(corrupts, times=1000, method="GET", part=part)
    with pytest.raises((Corrupt, BadFormat)):
        faulty.clone()
    assert not (faulty.root / "copy").exists()


def test_bytes_damaged_on_the_way_up_are_refused_by_the_store_and_sent_again(faulty: Faulty) -> None:
    for part in ("/pages/", "/packs/"):
        faulty.proxy.fail(corrupts_the_request, times=1, method="PUT", part=part)
    folder = faulty.sync()
    assert faulty.proxy.left == 0
    assert verify.verify_some(faulty.server.deps) > 0
    assert tree(faulty.clone()) == tree(folder)


def test_signatures_the_store_finds_too_old_are_renewed(faulty: Faulty) -> None:
    faulty.proxy.fail(SKEWED, method="PUT", part="/packs/")
    faulty.proxy.fail(SKEWED, method="PUT", part="/pages/")
    folder = faulty.sync()
    for part in ("/pages/", "/locators/", "/packs/"):
        faulty.proxy.fail(SKEWED, method="GET", part=part)
    assert tree(faulty.clone()) == tree(folder)
    assert faulty.proxy.left == 0


def test_a_key_that_looks_like_an_error_is_none(faulty: Faulty) -> None:
    """Statuses are told from the store's words, in which keys stand, too."""
    store = faulty.server.deps.store
    store.put("range/416", b"0123")
    for call in (lambda: store.get("range/416"), lambda: store.get_range("range/416", 0, 4)):
        faulty.proxy.fail(answers(500), method="GET")
        assert call() == b"0123"
    assert faulty.proxy.left == 0


def test_a_store_that_is_away_for_a_while_is_waited_for(faulty: Faulty, monkeypatch: pytest.MonkeyPatch) -> None:
    """For longer than six tries, as when it is started again."""
    monkeypatch.setattr(transfer, "_LONGEST_PAUSE", 0.01)
    monkeypatch.setattr(fetch_orders, "_PATIENCE", RetryPolicy(attempts=2, first=0.01))
    faulty.proxy.fail(resets, times=20, method="PUT", part="/packs/")
    folder = faulty.sync()
    assert faulty.proxy.left == 0
    faulty.proxy.fail(resets, times=20, method="GET", part="/packs/")
    assert tree(faulty.clone()) == tree(folder)
    assert faulty.proxy.left == 0


@pytest.mark.parametrize(("fault", "error"), [(answers(503), StoreUnavailable), (SKEWED, Forbidden)])
def test_a_store_that_stays_away_is_named_and_later_all_goes_on(
    faulty: Faulty, fault: Fault, error: type[MillError], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer, "RetryPolicy", lambda **_: RetryPolicy(attempts=2, first=0.01))
    faulty.proxy.fail(fault, times=1000, method="PUT", part="/packs/")
    folder = faulty.folder()
    with pytest.raises(error) as caught:
        sync(faulty.api, require_working_copy(folder))
    assert faulty.proxy.endpoint.removeprefix("http://") in caught.value.message
    assert "Signature" not in caught.value.message
    faulty.proxy.heal()
    sync(faulty.api, require_working_copy(folder))
    assert tree(faulty.clone()) == tree(folder)
