"""The router as a process, with replicas that are processes, and kill -9 for each of them."""

from __future__ import annotations

import asyncio
import json
import random
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest
import uvloop

from millpond.serve.router.upstream import ReplicaLost, Upstream, ask
from millpond.testing.daemons import free_port
from tests.unit.serve.router.routes import a_document, a_replica, an_endpoint

ROOT = Path(__file__).parents[2]
HEAD = "POST /v2/models/xray/infer HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}"


class Site:
    """A directory with a router and its replicas. Everything is ended with it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.port = free_port()
        self.config = directory / "router.json"
        self.processes: list[subprocess.Popen[bytes]] = []

    def start_replica(self, name: str, seconds: float = 0.0) -> subprocess.Popen[bytes]:
        command = ["-m", "tests.integration.router_replica", f"unix:{self.directory}/{name}", str(seconds)]
        process = self._start(command)
        _until((self.directory / name).is_socket)
        return process

    def start_router(self) -> subprocess.Popen[bytes]:
        state, where = str(self.directory / "state"), ["--host", "127.0.0.1", "--http-port", str(self.port)]
        command = ["-m", "millpond.serve.router", "--config", str(self.config), "--state-dir", state]
        process = self._start([*command, *where])
        _until(self._is_live)
        return process

    def configure(self, endpoint: dict[str, Any]) -> None:
        beside = self.config.with_suffix(".new")
        beside.write_text(json.dumps(a_document(endpoint)))
        beside.replace(self.config)

    def replica(self, name: str, version: int = 3) -> dict[str, Any]:
        return a_replica(f"unix:{self.directory}/{name}", version)

    def client(self) -> Upstream:
        return Upstream(f"tcp:127.0.0.1:{self.port}", answer_seconds=60)

    def stats(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.directory / "state/stats.json").read_text())
        return found

    def rows(self) -> list[dict[str, Any]]:
        """The request log, with what is not closed yet."""
        paths = sorted((self.directory / "state/log").iterdir())
        return [
            json.loads(line)
            for path in paths
            for line in path.read_text().splitlines(keepends=True)
            if line[-1] == "\n"
        ]

    def _is_live(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=5):
                return True
        except OSError:
            return False

    def _start(self, command: list[str]) -> subprocess.Popen[bytes]:
        process = subprocess.Popen([sys.executable, *command], cwd=ROOT)
        self.processes.append(process)
        return process


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    found = Site(tmp_path)
    yield found
    for process in found.processes:
        process.kill()
        process.wait()


async def load(
    site: Site, number: int, *, together: int = 16, during: Callable[[int], None] = lambda count: None
) -> Counter[str]:
    """What came of so many requests: statuses, or `lost` without the router. `during` is told the count."""
    client, left, found = site.client(), iter(range(number)), Counter[str]()

    async def work() -> None:
        for _ in left:
            try:
                answer = await ask(client, [HEAD.encode()])
                found[str(answer.status)] += 1
            except ReplicaLost:
                found["lost"] += 1
                await asyncio.sleep(0.01)
            during(found.total())

    await asyncio.gather(*(work() for _ in range(together)))
    client.close()
    return found


def run(case: Coroutine[Any, Any, Counter[str]]) -> Counter[str]:
    return uvloop.run(asyncio.wait_for(case, 120))


def test_kill_of_a_replica_under_load_costs_no_request(site: Site) -> None:
    replicas = {name: site.start_replica(name, 0.002) for name in ("a", "b", "c")}
    site.configure(an_endpoint(replicas=[site.replica(name) for name in replicas]))
    site.start_router()

    def kill(count: int) -> None:
        if count == 400:
            replicas["a"].kill()
        if count == 800:
            replicas["b"].kill()

    assert run(load(site, 1500, during=kill)) == {"200": 1500}


def test_kill_of_the_only_replica_holds_requests_until_it_is_replaced(site: Site) -> None:
    first = site.start_replica("a", 0.002)
    site.configure(an_endpoint(replicas=[site.replica("a")]))
    site.start_router()

    def replace(count: int) -> None:
        if count == 200:
            first.kill()
            site.start_replica("b", 0.002)
            site.configure(an_endpoint(replicas=[site.replica("b")]))

    assert run(load(site, 500, during=replace)) == {"200": 500}


def test_kill_of_the_router_loses_only_what_is_in_flight(site: Site) -> None:
    site.start_replica("a", 0.002)
    site.configure(an_endpoint(replicas=[site.replica("a")], log={"level": "meta"}))
    first = site.start_router()

    def kill(count: int) -> None:
        if count == 300:
            _until(lambda: len(site.rows()) >= 250)
            first.kill()
            first.wait()
            site.start_router()

    found = run(load(site, 600, together=8, during=kill))
    assert found["lost"] <= 8 and found["200"] == 600 - found["lost"]
    # The log of the killed router is whole up to about a second before its end.
    assert len(site.rows()) >= 250


def test_a_drained_router_finishes_what_it_began(site: Site) -> None:
    # Slow enough that stats.json, written once a second, shows them under way.
    site.start_replica("a", 2.5)
    site.configure(an_endpoint(replicas=[site.replica("a")], log={"level": "meta"}))
    router = site.start_router()
    _until((site.directory / "state/stats.json").exists)

    async def case() -> Counter[str]:
        under_way = asyncio.ensure_future(load(site, 8, together=8))
        while site.stats()["endpoints"][0]["versions"][0]["outstanding"] < 8:
            await asyncio.sleep(0.01)
        router.send_signal(signal.SIGTERM)
        return await under_way

    assert run(case()) == {"200": 8}
    assert router.wait(30) == 0
    assert len(site.rows()) == 8 and not list((site.directory / "state/log").glob("*.open"))


def test_weights_are_exact_over_ten_thousand_requests(site: Site) -> None:
    for name in ("a", "b", "c"):
        site.start_replica(name)
    replicas = [site.replica("a"), site.replica("b"), site.replica("c", 5)]
    site.configure(an_endpoint(weights={3: 95, 5: 5}, replicas=replicas))
    site.start_router()
    assert run(load(site, 10_000)) == {"200": 10_000}
    _until(lambda: sum(one["requests"] for one in site.stats()["endpoints"][0]["versions"]) == 10_000)
    counts = {one["version"]: one["requests"] for one in site.stats()["endpoints"][0]["versions"]}
    assert counts == {3: 9500, 5: 500}


def test_nonsense_at_the_front_harms_nobody(site: Site) -> None:
    site.start_replica("a")
    site.configure(an_endpoint(replicas=[site.replica("a")]))
    router = site.start_router()
    generator = random.Random(7)
    pieces = [
        b"POST ",
        b"GET ",
        b"/v2/models/xray/infer",
        b" HTTP/1.1\r\n",
        b"content-length: 5\r\n",
        b"\r\n",
        b"\x00\xff",
    ]
    pieces += [
        b"transfer-encoding: chunked\r\n",
        b"5\r\nabcde\r\n",
        b"-1\r\n",
        b"/endpoints//v2/%ff",
        b"authorization: Bearer mep_\r\n",
    ]

    async def case() -> Counter[str]:
        for _ in range(200):
            _, writer = await asyncio.open_connection("127.0.0.1", site.port)
            writer.write(b"".join(generator.choices(pieces, k=generator.randint(1, 12))) + generator.randbytes(9))
            writer.close()
        return await load(site, 50)

    assert run(case()) == {"200": 50}
    assert router.poll() is None


def _until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "waited for a minute"
        time.sleep(0.01)
