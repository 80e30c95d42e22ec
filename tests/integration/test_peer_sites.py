"""Two sites without a common mount: what one has cached comes to the other through their agents, not the lake."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from millpond.testing.builders_data import a_commit
from millpond.testing.server import running_server
from millpond.testing.waiting import wait_until
from tests.integration.peer_sites import FILES, PeerSites, skip_without_mounts


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PeerSites]:
    skip_without_mounts()
    root = tmp_path_factory.mktemp("peers")
    with running_server(root / "data") as server, ExitStack() as stack:
        a_commit(server.deps, FILES)
        yield PeerSites(root, server, stack)


def test_a_commit_comes_from_the_other_site_and_not_from_the_lake(sites: PeerSites) -> None:
    sites.cache("xray", "berlin")
    here, reasons = sites.cache("xray", "paris")
    assert any("fetched from volume berlin at berlin" in reason for reason in reasons)
    assert {str(path.relative_to(here)): path.read_bytes() for path in here.rglob("*") if path.is_file()} == FILES
    assert sites.bandwidth("paris") == {"berlin"}
    sources = sites.sources("xray", "paris")
    assert sources == {"volume berlin at berlin": sum(map(len, FILES.values()))}, "the lake gave nothing"


def test_two_sites_that_ask_at_once_fetch_from_the_lake_once(sites: PeerSites) -> None:
    slides = {name: content[::-1] for name, content in FILES.items()}
    a_commit(sites.server.deps, slides, dataset="slides")
    asked = [sites.request("slides", site) for site in ("berlin", "paris")]
    assert any(reason.startswith("fetched from volume berlin at berlin") for reason in asked[1]["reasons"])
    for one in asked:
        sites.wait(one)
    here = Path(asked[1]["cached"]["path"])
    assert {str(path.relative_to(here)): path.read_bytes() for path in here.rglob("*") if path.is_file()} == slides
    assert sites.sources("slides", "paris") == {"volume berlin at berlin": sum(map(len, slides.values()))}


def test_a_limit_of_the_link_holds_between_agents(sites: PeerSites) -> None:
    sites.ask("PUT", "/links/berlin/paris/limit", json={"windows": [{"bits_per_second": 1_200_000}]})
    scans = {name: content[1:] + content[:1] for name, content in FILES.items()}
    a_commit(sites.server.deps, scans, dataset="scans")
    sites.cache("scans", "berlin")
    asked = sites.request("scans", "paris")
    assert any("volume berlin" in one and "limited to 1.2 Mbit/s" in one for one in asked["reasons"])

    def begun() -> dict[str, Any]:
        shown = sites.ask("GET", f"/caches/{asked['cached']['id']}")
        return shown if shown["done_bytes"] else {}

    shown = wait_until(begun, what="the first bytes", within=60)
    assert (shown["state"], shown["done_bytes"] < shown["bytes"]) == ("filling", True), "5 MB take half a minute"
    sites.ask("DELETE", "/links/berlin/paris/limit")
    sites.wait(asked)
    assert sites.sources("scans", "paris") == {"volume berlin at berlin": sum(map(len, scans.values()))}


def test_an_address_that_is_none(sites: PeerSites) -> None:
    refused = sites.server.admin.put("/sites/berlin", json={"address": "nowhere"})
    assert (refused.status_code, refused.json()["code"]) == (400, "bad_request")
    assert "HOST:PORT" in refused.json()["hint"]
