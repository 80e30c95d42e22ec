"""A site reaches the lake through an endpoint of its own, and through the lake's while that is away."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from millpond.blobs.location import open_store
from millpond.blobs.memory import MemoryStore
from millpond.blobs.store import SignedUrl
from millpond.services.lake import lake_owner
from millpond.testing.builders_data import a_commit
from millpond.testing.proxies import Way, way_to
from millpond.testing.rclone import CREDENTIALS, Rclone
from millpond.testing.server import RunningServer, running_server
from millpond.testing.waiting import wait_until
from tests.integration.site_agent import SiteAgent


class Lab(SiteAgent):
    """A site whose agent runs as a process; its endpoint is a relay to the store, which checks signatures."""

    def __init__(self, root: Path, server: RunningServer, stack: ExitStack, way: Way, closing: ExitStack) -> None:
        self._server, self.way, self.closing = server, way, closing
        super().__init__(root, server, stack, "lab")

    def cache(self, dataset: str, files: dict[str, bytes]) -> None:
        a_commit(self._server.deps, files, dataset=dataset)
        asked = self.ask("POST", "/caches", json={"dataset": dataset, "volume": "disk"})
        ready = f"/caches/{asked['cached']['id']}"
        wait_until(lambda: self.ask("GET", ready)["state"] == "ready", what=f"{dataset} on disk", within=60)
        here = Path(asked["cached"]["path"])
        assert {str(path.relative_to(here)): path.read_bytes() for path in here.rglob("*") if path.is_file()} == files

    def stores(self) -> dict[str, str | None]:
        return {one["id"]: one["problem"] for one in self.ask("GET", "/sites/lab")["stores"]}

    def doctor(self) -> dict[str, Any]:
        checks = self.ask("GET", "/doctor")["checks"]
        return next(check for check in checks if check["name"] == "lake of sites")


@pytest.fixture
def lab(tmp_path: Path, rclone: Rclone, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    url = rclone.url(tmp_path.name)
    store = open_store(url)
    with ExitStack() as stack:
        server = stack.enter_context(running_server(tmp_path / "data", store=store, lake_url=url))
        lake_owner.claim(server.deps.db, store, server.deps.clock.now())
        closing = stack.enter_context(ExitStack())
        way = closing.enter_context(way_to(urlsplit(rclone.endpoint).port or 0))
        yield Lab(tmp_path, server, stack, way, closing)


def test_a_site_reads_through_its_endpoint_and_falls_back(lab: Lab) -> None:
    set_to = lab.ask("PUT", "/sites/lab", json={"lake_endpoint": f"{lab.way.url}/"})
    assert (set_to["lake_endpoint"], set_to["warning"]) == (lab.way.url, None)
    wait_until(lambda: lab.stores() == {"endpoint": None, "lake": None}, what="the agent's report", within=60)
    assert lab.doctor()["ok"]
    before = lab.way.passed
    lab.cache("near", {f"{n}.bin": bytes([n]) * 300_000 for n in range(5)})
    assert lab.way.passed - before > 3000, "its packs came this way"

    lab.closing.close()  # the gateway is gone
    lab.cache("far", {f"{n}.bin": bytes([100 + n]) * 300_000 for n in range(5)})
    wait_until(lambda: lab.stores()["endpoint"] is not None, what="the agent's report", within=60)
    assert lab.stores()["lake"] is None
    told = lab.doctor()
    assert not told["ok"] and "site lab: Cannot read the lake at" in told["message"]
    assert "mill site show" in told["hint"]


def test_endpoints_that_are_none(lab: Lab) -> None:
    change = lab._server.admin.put
    for wrong in ("nowhere", "ftp://host", "http://", "http://host:9000/bucket", "http://me@host"):
        refused = change("/sites/lab", json={"lake_endpoint": wrong})
        assert (refused.status_code, "URL without a path" in refused.json()["hint"]) == (400, True), wrong
    other = change("/sites/lab", json={"lake_endpoint": lab._server.url})
    assert other.status_code == 400 and "does not hold this lake" in other.json()["detail"]
    away = lab.ask("PUT", "/sites/lab", json={"lake_endpoint": "http://127.0.0.1:1"})
    assert "cannot reach" in away["warning"], "the site may reach it all the same"
    lab.ask("PUT", "/sites/lab", json={"address": "a.example.org:1"})
    assert lab.ask("GET", "/sites/lab")["site"]["lake_endpoint"] == "http://127.0.0.1:1", "what is left out stays"
    lab.ask("PUT", "/sites/lab", json={"lake_endpoint": None})
    assert lab.ask("GET", "/sites/lab")["stores"] == []


class FarStore(MemoryStore):
    """A lake that the server reaches, by URLs that lead nowhere."""

    def sign(self, method: str, key: str, seconds: int) -> SignedUrl:
        return SignedUrl(method, f"http://127.0.0.1:1/{key}")


def test_doctor_names_a_site_that_cannot_reach_the_lake(tmp_path: Path) -> None:
    """Also while nothing is to be fetched: whoever submits the next job wants to know before."""
    store = FarStore()
    with ExitStack() as stack:
        server = stack.enter_context(running_server(tmp_path / "data", store=store, lake_url="s3://far/lake"))
        lake_owner.claim(server.deps.db, store, server.deps.clock.now())
        lab = Lab(tmp_path, server, stack, Way(0), stack)
        told = wait_until(lambda: None if lab.doctor()["ok"] else lab.doctor(), what="the agent's report", within=60)
        assert told["message"].startswith("site lab: Cannot read the lake")
        assert "mill compute test" in told["hint"]
        assert lab.stores() == {}, "there is no other store to choose"
