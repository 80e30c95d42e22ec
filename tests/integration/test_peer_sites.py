"""Two sites without a common mount: what one has cached comes to the other through their agents, not the lake."""

from __future__ import annotations

import random
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from millpond.testing.builders_data import a_commit
from millpond.testing.builders_work import add_agent
from millpond.testing.server import RunningServer, running_server
from millpond.testing.waiting import wait_until

FILES = {f"{n % 7}/{n:03d}": random.Random(n).randbytes(100_000) for n in range(50)}


class PeerSites:
    """Agents of two sites, each with a volume that the other does not see; the first serves its own."""

    def __init__(self, root: Path, server: RunningServer, stack: ExitStack) -> None:
        self._server, self.root, self._stack = server, root, stack
        self._port = _free_port()
        for site in ("berlin", "paris"):
            (root / site).mkdir()
        for site in ("berlin", "paris"):
            added = add_agent(server.deps.db, f"gpu-{site}", site=site, now=server.deps.clock.now(), seen=False)
            (root / f"{site}.token").touch(0o600)
            (root / f"{site}.token").write_text(added.token)
            self._start(site, *(("--listen", f"127.0.0.1:{self._port}") if site == "berlin" else ()))
            self.ask("POST", "/volumes", json={"name": site, "path": str(root / site), "site": site})
        wait_until(
            lambda: all(self.ask("GET", f"/volumes/{site}")["connected"] for site in ("berlin", "paris")),
            what="both volumes", within=60,
        )  # fmt: skip
        self.ask("PUT", "/sites/berlin", json={"address": f"127.0.0.1:{self._port}"})
        self.ask("PUT", "/links/berlin/paris", json={"bits_per_second": 25 * 10**9})
        for site in ("berlin", "paris"):
            self.ask("PUT", f"/links/lake/{site}", json={"bits_per_second": 10**6})

    def _start(self, site: str, *more: str) -> None:
        command = [sys.executable, "-m", "millpond", "agent", "--server", self._server.url, "--node", f"gpu-{site}"]
        command += ["--token-file", str(self.root / f"{site}.token"), "--state-dir", str(self.root / f"state-{site}")]
        log = self._stack.enter_context((self.root / f"{site}.log").open("ab"))
        # Each sees the other's volume as a directory that is not there.
        hidden = self.root / ("paris" if site == "berlin" else "berlin")
        script = f"mount -t tmpfs none {hidden} && exec " + " ".join(map(str, [*command, *more]))
        process = self._stack.enter_context(subprocess.Popen(["unshare", "-m", "sh", "-c", script], stderr=log))
        self._stack.callback(process.kill)

    def ask(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        answer = self._server.admin.request(method, path, **options)
        assert answer.is_success, answer.text
        return dict(answer.json()) if answer.content else {}

    def cache(self, commit: str, volume: str) -> tuple[Path, list[str]]:
        """Where the commit is once it is there, and why its bytes came from where they came."""
        asked = self.request(commit, volume)
        self.wait(asked)
        return Path(asked["cached"]["path"]), asked["reasons"]

    def request(self, commit: str, volume: str) -> dict[str, Any]:
        return self.ask("POST", "/caches", json={"dataset": commit, "volume": volume})

    def wait(self, asked: dict[str, Any]) -> None:
        ready = f"/caches/{asked['cached']['id']}"
        wait_until(lambda: self.ask("GET", ready)["state"] == "ready", what="the fill", within=60)

    def sources(self, commit: str, volume: str) -> dict[str, int]:
        """What each source gave to the volume."""
        found = self.ask("GET", "/cache-why", params={"dataset": commit})["volumes"]
        cached = next(one["cached"] for one in found if one["volume"] == volume)
        return {one["name"]: one["bytes"] for one in cached["sources"]}

    def bandwidth(self, volume: str) -> set[str]:
        return {one["source"] for one in self.ask("GET", f"/volumes/{volume}/usage")["bandwidth"]}


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PeerSites]:
    if subprocess.run(["unshare", "-m", "true"], check=False, capture_output=True).returncode:
        pytest.skip("this machine lets nobody have mounts of their own (unshare -m)")
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
    a_commit(sites._server.deps, slides, dataset="slides")
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
    a_commit(sites._server.deps, scans, dataset="scans")
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
    refused = sites._server.admin.put("/sites/berlin", json={"address": "nowhere"})
    assert (refused.status_code, refused.json()["code"]) == (400, "bad_request")
    assert "HOST:PORT" in refused.json()["hint"]


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])
