"""A replica of the lake in a second store: sites read from it, and each stands in for the other when it is away."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest

from millpond.app import reindex_lake
from millpond.blobs.location import open_store
from millpond.services.lake import lake_owner
from millpond.services.lake.fence import FencedStore, NoFence
from millpond.services.lake.open_replicas import copies
from millpond.services.lake.replicas import keeping
from millpond.settings import Settings
from millpond.testing.builders_data import a_commit
from millpond.testing.proxies import Way, way_to
from millpond.testing.seaweed import CREDENTIALS, Seaweed
from millpond.testing.server import RunningServer, running_server
from millpond.testing.waiting import wait_until
from tests.integration.site_agent import SiteAgent


class TwoStores(SiteAgent):
    """A server whose lake and replica are reached through relays of their own; an agent at site `east`."""

    def __init__(self, root: Path, server: RunningServer, stack: ExitStack) -> None:
        self.server, self.root = server, root
        super().__init__(root, server, stack, "east")

    def wait_for(self, **problems: bool) -> None:
        """Until the agent tells which of its stores it can read; `copy` and `lake`."""

        def told() -> bool:
            stores = {one["name"]: one["problem"] for one in self.ask("GET", "/sites/east")["stores"]}
            found = {"copy": stores["replica copy"], "lake": stores["the lake at its own endpoint"]}
            return {name: problem is not None for name, problem in found.items()} == problems

        wait_until(told, what=f"what the agent finds: {problems}", within=60)

    def keep(self) -> None:
        keeping.keep_all(self.server.deps, self.server.deps.clock.now())
        found = self.ask("GET", "/lake/replicas/copy")
        assert (found["state"], found["problem"]) == ("up to date", None)

    def fill(self, dataset: str, files: dict[str, bytes]) -> dict[str, int]:
        """Cache the dataset; which kinds of sources gave how many bytes."""
        asked = self.ask("POST", "/caches", json={"dataset": dataset, "volume": "disk"})
        cached = f"/caches/{asked['cached']['id']}"
        wait_until(lambda: self.ask("GET", cached)["state"] == "ready", what=f"{dataset} on disk", within=90)
        here = Path(asked["cached"]["path"])
        assert {str(path.relative_to(here)): path.read_bytes() for path in here.rglob("*") if path.is_file()} == files
        return {one["kind"]: one["bytes"] for one in self.ask("GET", cached)["sources"]}


def files(seed: int) -> dict[str, bytes]:
    return {f"{n}.bin": random.Random(seed * 100 + n).randbytes(300_000) for n in range(5)}


@pytest.fixture
def stores(tmp_path: Path, seaweed: Seaweed, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[TwoStores, Way, Way]]:
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    port = urlsplit(seaweed.endpoint).port or 0
    with ExitStack() as stack:
        lake, copy = stack.enter_context(way_to(port)), stack.enter_context(way_to(port))
        url = f"s3://{seaweed.bucket}/{tmp_path.name}-lake?endpoint={quote(lake.url, safe='')}&path_style=true"
        fenced = FencedStore(open_store(url), NoFence())
        server = stack.enter_context(running_server(tmp_path / "data", store=fenced, lake_url=url))
        fenced.copies = lambda: copies(server.deps.db, server.deps.replicas, server.deps.seal)
        lake_owner.claim(server.deps.db, fenced, server.deps.clock.now())
        two = TwoStores(tmp_path, server, stack)
        where = f"s3://{seaweed.bucket}/{tmp_path.name}-copy"
        given = {"name": "copy", "url": where, "endpoint": copy.url, "sites": ["east"]}
        keys = {"key_id": "another", "secret": "key"}
        shown = two.ask("POST", "/lake/replicas", json={**given, "credentials": keys})
        assert shown["has_credentials"] and "another" not in str(shown), "credentials are never shown"
        yield two, lake, copy


def test_a_site_reads_from_its_replica_and_each_store_stands_in_for_the_other(
    stores: tuple[TwoStores, Way, Way],
) -> None:
    two, lake, copy = stores
    a_commit(two.server.deps, files(1), dataset="one")
    two.keep()
    two.wait_for(copy=False, lake=False)
    passed = lake.passed
    given = two.fill("one", files(1))
    assert given.keys() == {"replica"} and given["replica"] >= 1_500_000
    assert lake.passed - passed < 200_000, "of the lake, at most pages that the server read"

    a_commit(two.server.deps, files(2), dataset="two")  # not in the replica yet
    assert two.fill("two", files(2)).keys() == {"lake"}

    a_commit(two.server.deps, files(3), dataset="three")
    two.keep()
    copy.server_port = 1  # the replica is gone
    assert two.fill("three", files(3)).keys() == {"lake"}
    told = next(one for one in two.ask("GET", "/doctor")["checks"] if one["name"] == "lake replicas")
    assert told["ok"], "it holds everything, though nobody reaches it"
    two.wait_for(copy=True, lake=False)
    told = next(one for one in two.ask("GET", "/doctor")["checks"] if one["name"] == "lake of sites")
    assert "site east: Cannot read replica copy" in told["message"]

    copy.server_port = lake.server_port
    a_commit(two.server.deps, files(4), dataset="four")
    two.keep()
    lake.server_port = 1  # the lake is gone
    assert two.fill("four", files(4)).keys() == {"replica"}
    metrics = two.server.client().get(f"{two.server.url}/metrics").text
    assert 'millpond_lake_replica_behind_commits{replica="copy"} 0.0' in metrics


def test_a_replica_is_a_lake_when_the_lake_is_lost(stores: tuple[TwoStores, Way, Way], tmp_path: Path) -> None:
    two, _, copy = stores
    commit = a_commit(two.server.deps, files(1), dataset="one")
    two.keep()
    shown = two.ask("GET", "/lake/replicas/copy")
    url = f"{shown['url']}?endpoint={quote(copy.url, safe='')}&path_style=true"
    found = reindex_lake(Settings(tmp_path / "anew", lake_url=url), settle_seconds=0.0)
    assert (found.commits, found.problems) == (1, []) and commit.id
    a_commit(two.server.deps, files(2), dataset="two")
    keeping.keep_all(two.server.deps, two.server.deps.clock.now())
    assert "lake of its own" in two.ask("GET", "/lake/replicas/copy")["problem"], "it is never written to again"


def test_wrong_bytes_of_a_replica_are_not_taken(stores: tuple[TwoStores, Way, Way]) -> None:
    two, _, _ = stores
    deps = two.server.deps
    a_commit(deps, files(1), dataset="one")
    two.keep()
    (store,) = copies(deps.db, deps.replicas, deps.seal)
    for key in [info.key for info in store.list("projects/") if "/packs/" in info.key]:
        data = store.get(key)
        store.put(key, bytes([data[0] ^ 1]) + data[1:])
    given = two.fill("one", files(1))
    assert given["lake"] >= 300_000, "what is wrong there comes from the lake"


def test_a_replica_that_goes_away_during_a_fill(stores: tuple[TwoStores, Way, Way]) -> None:
    two, _, copy = stores
    a_commit(two.server.deps, files(1), dataset="one")
    two.keep()
    two.wait_for(copy=False, lake=False)
    copy.ends_after = copy.passed + 700_000
    assert two.fill("one", files(1))["lake"] >= 300_000, "the rest came from the lake"
    assert copy.server_port == 1, "it was read from until it went"


def test_killed_while_it_copies(stores: tuple[TwoStores, Way, Way]) -> None:
    """The process ends hard at one write after the other; whoever comes next goes on, and sends no pack twice."""
    two, _, copy = stores
    deps = replace(two.server.deps)
    a_commit(deps, files(1), dataset="one")
    script = Path(__file__).with_name("dying_replication.py")
    database = str(two.root / "data" / "millpond.db")
    for step in (1, 3, 5):
        command = [sys.executable, str(script), database, deps.settings.lake, copy.url, str(step)]
        ended = subprocess.run(command, capture_output=True, check=False)
        assert ended.returncode in (-9, 0), ended.stderr.decode()
        keeping.take_back(deps)
    two.keep()
    assert two.fill("one", files(1)).keys() == {"replica"}
