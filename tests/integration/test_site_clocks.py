"""Sites whose clocks are an hour apart from the server's: what is signed, granted and limited goes by the server's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack
from datetime import timedelta
from typing import Any

import pytest

from millpond.testing.builders_data import a_commit
from millpond.testing.server import running_server
from millpond.testing.waiting import wait_until
from tests.integration.clocks import clock_library, clocks_set
from tests.integration.peer_sites import FILES, PeerSites, skip_without_mounts

SIZE = sum(map(len, FILES.values()))
# Two hours lie between the one that sends and the one that receives.
AHEAD = {"berlin": 3600, "paris": -3600}


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PeerSites]:
    skip_without_mounts()
    root = tmp_path_factory.mktemp("clocks")
    library = clock_library(root)

    def around(site: str) -> AbstractContextManager[None]:
        return clocks_set(library, AHEAD[site])

    with running_server(root / "data") as server, ExitStack() as stack:
        yield PeerSites(root, server, stack, around)


def test_signed_urls_and_grants_hold(sites: PeerSites) -> None:
    a_commit(sites.server.deps, FILES)
    here, _ = sites.cache("xray", "berlin")
    assert sites.sources("xray", "berlin") == {"the lake": SIZE}
    there, _ = sites.cache("xray", "paris")
    assert sites.sources("xray", "paris") == {"volume berlin at berlin": SIZE}, "the grant was taken"
    for path in (here, there):
        found = {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}
        assert found == FILES


@pytest.mark.parametrize("site", ["berlin", "paris"])
def test_a_window_of_a_limit_is_that_of_the_server(sites: PeerSites, site: str) -> None:
    scans = {name: content[::-1] + site.encode() for name, content in FILES.items()}
    a_commit(sites.server.deps, scans, dataset=f"scans-{site}")
    now = sites.server.deps.clock.now()
    start, end = (f"{now + timedelta(minutes=minutes):%H:%M}" for minutes in (-20, 20))
    window = {"bits_per_second": 1_200_000, "start": start, "end": end, "zone": "UTC"}
    sites.ask("PUT", f"/sites/{site}/limit", json={"windows": [window]})
    asked = sites.request(f"scans-{site}", site)

    def begun() -> dict[str, Any]:
        shown = sites.ask("GET", f"/caches/{asked['cached']['id']}")
        return shown if shown["done_bytes"] else {}

    shown = wait_until(begun, what="the first bytes", within=60)
    assert (shown["state"], shown["done_bytes"] < SIZE) == ("filling", True), "5 MB take half a minute"
    assert shown["seconds_left"] < 120, "by bytes and rate, not by anybody's clock"
    sites.ask("DELETE", f"/sites/{site}/limit")
    sites.wait(asked)
