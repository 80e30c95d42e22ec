"""Sites at the edge with real agents: what a silent site serves and swaps to; two machines with one volume."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from millpond.agent.keeper.processes import marked
from millpond.client.credentials import save_token
from millpond.db import caches, request_logs
from millpond.services.endpoints import rounds
from millpond.services.jobs import schedule
from millpond.testing.daemons import free_port
from millpond.testing.server import ADMIN, RunningServer, running_server
from millpond.testing.waiting import wait_until
from tests.integration.cache_site import CacheSite
from tests.integration.cli import Mill, ServerHere
from tests.integration.test_endpoints import ask, load, register

NAME = "counting"


@dataclass
class Edge:
    """A site `local` with one agent, and an endpoint there. The loops of the server have their turns in `until`."""

    server: RunningServer
    site: CacheSite
    mill: Mill
    port: int

    def until(self, is_so: Any, what: str) -> None:
        wait_until(lambda: self._turn() or is_so(), within=90, what=what)

    def at_site(self) -> dict[str, Any]:
        (found,) = self.mill.ok("edge", "list", NAME, "--json").json["items"]
        return dict(found)

    def shown(self) -> dict[str, Any]:
        found: dict[str, Any] = self.mill.ok("endpoint", "show", NAME, "--json").json
        return found

    def submit(self, compute: str, script: str, model: str) -> str:
        """A job on one machine that reads the model's first version."""
        inputs = [{"dataset": f".models.{model}", "ref": "1"}]
        asked = {"command": ["sh", "-c", script], "compute": compute, "inputs": inputs}
        made = self.server.admin.post("/projects/default/jobs", json=asked).json()
        assert "id" in made, made
        return str(made["id"])

    def job(self, job: str) -> dict[str, Any]:
        return dict(self.server.admin.get(f"/projects/default/jobs/{job}").json())

    def has(self, swap: str, serving: str) -> bool:
        found = self.at_site()
        return found["swap"] == swap and found["serving"] == [serving]

    def _turn(self) -> None:
        now = self.server.deps.clock.now()
        rounds.advance_all(self.server.deps, now)
        schedule.run_once(self.server.deps, now)
        self.server.hub.wake("agents")


@pytest.fixture
def edge(
    tmp_path: Path, open_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Edge]:
    monkeypatch.setattr("millpond.services.computes.presence.CONNECTED", timedelta(seconds=4))
    monkeypatch.setattr("millpond.services.computes.presence.WORD", timedelta(seconds=2.5))
    home = tmp_path / "home"
    with running_server(tmp_path / "data") as server, ExitStack() as stack:
        save_token(home, server.url, server.token_of(ADMIN))
        stack.callback(end_services, open_path)
        site = CacheSite(open_path, server, stack, ["first"])
        yield Edge(server, site, Mill(ServerHere(server.url, tmp_path / "data", home), capfd, tmp_path), free_port(3))


def end_services(root: Path) -> None:
    """Services outlive their agent on purpose: a test leaves none behind."""
    for state in root.iterdir():
        kill_services(state)


@pytest.mark.long
def test_a_silent_site_serves_and_swaps_when_it_is_back(edge: Edge, tmp_path: Path) -> None:
    mill, port = edge.mill, edge.port
    for factor in (2, 3):
        register(mill, tmp_path / "model", "counter", factor)
    register(mill, tmp_path / "broken", "counter", 0)
    (tmp_path / "broken" / "1" / "model.py").write_text("raise RuntimeError('no weights here')")
    mill.ok("model", "register", "counter", "--from", str(tmp_path / "broken"))
    mill.ok("endpoint", "create", NAME, "--model", "counter@1", "--site", "loc*", "--public", "--environment", "none",
            "--port", str(port), "--unchecked")  # fmt: skip
    edge.until(lambda: edge.has("current", "counter@1"), "the first version")
    edge.until(lambda: answers(port) == "1", "its router")

    with load(port, NAME) as answered:
        edge.site.end(edge.site.processes["first"])
        mill.ok("edge", "push", "counter@2", "--site", "loc*", "--unchecked")
        edge.until(lambda: not edge.at_site()["is_online"], "silence")
        before = answered[200, "1"]
        edge.until(lambda: answered[200, "1"] > before + 50, "answers while it is silent")
        assert edge.has("waiting", "counter@1") and "silent" in edge.at_site()["swap_reason"]
        edge.site.start("first")
        edge.until(lambda: edge.has("current", "counter@2"), "the swap")
        mill.ok("edge", "push", "counter@4", "--site", "loc*", "--unchecked")
        edge.until(lambda: edge.has("failed", "counter@2"), "a version that does not load")
        mill.ok("edge", "rollback", NAME)
        edge.until(lambda: edge.has("current", "counter@2"), "the last good version")
    assert answered.keys() == {(200, "1"), (200, "2")}, answered
    mill.ok("edge", "rollback", NAME)
    edge.until(lambda: answers(port) == "1", "the version before that")


def answers(port: int) -> str | None:
    try:
        return ask(port, NAME)[1]
    except OSError:
        return None


def test_two_machines_share_one_volume_of_models(edge: Edge, tmp_path: Path) -> None:
    register(edge.mill, tmp_path / "model", "counter", 2)
    edge.site.add("second")
    jobs = [
        edge.submit(name, 'stat -c %i "$MILL_DATA_MODELS_COUNTER/1/model.py"', "counter")
        for name in ("first", "second")
    ]
    edge.until(lambda: all(edge.job(one)["state"] == "succeeded" for one in jobs), "jobs on both machines")
    files = {edge.mill.ok("logs", one).out.strip() for one in jobs}
    assert len(files) == 1 and files.pop().isdigit(), "both read the same file"
    assert {edge.job(one)["compute"] for one in jobs} == {"first", "second"}
    cached = [one for one in edge.mill.ok("cache", "list", "--json").json["items"] if "counter" in one["dataset"]]
    assert len(cached) == 1, cached


# Answers with the number of its process.
NUMBER = """
import os
import numpy as np

class Model:
    def predict(self, inputs):
        return {"y": inputs["x"] * 0 + os.getpid()}
"""


def test_two_machines_serve_one_endpoint_from_one_volume(edge: Edge, tmp_path: Path) -> None:
    mill, port, root = edge.mill, edge.port, edge.site.volume.parent
    register(mill, tmp_path / "model", "counter", 1)
    (tmp_path / "model" / "1" / "model.py").write_text(NUMBER)
    mill.ok("model", "register", "counter", "--from", str(tmp_path / "model"))
    edge.site.add("second")
    wait_until(lambda: edge.site.is_seen_by("second"), what="the second machine's look at the volume", within=60)
    mill.ok("endpoint", "create", NAME, "--model", "counter@2", "--min", "2", "--public", "--environment", "none",
            "--port", str(port), "--unchecked")  # fmt: skip
    edge.until(lambda: edge.shown()["state"] == "ready", "replicas on both machines")
    here = {one["compute"]: one for one in edge.shown()["replicas"]}
    assert here.keys() == {"first", "second"}, "they are spread over the machines"
    edge.until(lambda: answers(port) == "2", "the router")
    numbers = {ask(port, NAME)[2]["outputs"][0]["data"][0] for _ in range(20)}
    assert len(numbers) == 2, "both answer"
    (router,) = root.glob("*/placements/*/service/router.json")
    far = next(name for name in here if name != router.parents[3].name)
    told = json.loads(router.read_text())["endpoints"][0]["replicas"]
    assert sorted(one["http"].partition(":")[0] for one in told) == ["tcp", "unix"], "a socket where that is enough"
    elsewhere = next(one["http"] for one in told if one["http"].startswith("tcp:")).removeprefix("tcp:")
    assert httpx.get(f"http://{elsewhere}/v2", trust_env=False).status_code == 401, "nobody without its token"
    with edge.server.deps.db.read() as tx:
        ids = [one["id"] for one in mill.ok("cache", "list", "--json").json["items"] if "counter" in one["dataset"]]
        assert [one.cached.attempt for one in caches.of_ids(tx, ids)] == [1], "one copy of the model, filled once"

    with load(port, NAME) as answered:
        edge.until(lambda: answered[200, "2"] > 50, "answers of both")
        edge.site.end(edge.site.processes[far])
        kill_services(root / far)
        before = answered.total()
        edge.until(lambda: answered.total() > before + 100, "answers while one machine is gone")
        edge.site.start(far)
        edge.until(lambda: edge.shown()["state"] == "ready", "the second replica again")
    assert answered.keys() == {(200, "2")}, answered


def kill_services(state: Path) -> None:
    for path in state.glob("placements/*"):
        for process in marked(path.name):
            os.kill(process.pid, signal.SIGKILL)


@pytest.mark.long
def test_inputs_wait_on_the_volume_while_router_and_agent_are_killed(edge: Edge, tmp_path: Path) -> None:
    mill, port, root = edge.mill, edge.port, edge.site.volume.parent
    register(mill, tmp_path / "model", "counter", 2)
    now = datetime.now(UTC)
    closed = f"{now + timedelta(hours=11):%H:%M}-{now + timedelta(hours=12):%H:%M}"
    log: dict[str, Any] = {"level": "full", "to": "counted", "send": {"between": closed, "zone": "UTC"}}
    asked = {
        "schema": "millpond.endpoint/1", "name": NAME, "versions": [{"model": "counter@1"}], "environment": "none",
        "sites": {"local": {"min": 1, "max": 1}}, "access": {"public": True}, "log": log,
        "ports": {"http": port, "grpc": port + 1, "metrics": port + 2},
    }  # fmt: skip
    file = tmp_path / "endpoint.yaml"
    file.write_text(json.dumps(asked))
    mill.ok("endpoint", "create", "-f", str(file), "--unchecked")
    edge.until(lambda: answers(port) == "1", "the endpoint")
    for _ in range(10):
        assert ask(port, NAME)[0] == 200
    open_files = "first/placements/*/service/log/*.open"
    edge.until(lambda: sum(_rows(path) for path in root.glob(open_files)) >= 11, "rows on the router's disk")

    (router,) = root.glob("first/placements/*/service/router.json")
    edge.site.end(edge.site.processes["first"])
    kill_services(root / "first")
    assert not _archived(edge), "nobody could take them"
    edge.site.start("first")
    edge.until(lambda: _archived(edge) >= 11, "rows on the volume")
    edge.until(lambda: answers(port) == "1", "another router")
    edge.until(lambda: not router.exists(), "the end of the first router's folder")
    assert _archived(edge) >= 11 and not _received(edge), "they wait for their window"

    del log["send"]
    file.write_text(json.dumps(asked))
    mill.ok("endpoint", "update", NAME, "-f", str(file), "--unchecked")
    edge.until(lambda: _received(edge) >= 11, "rows at the server")
    edge.until(lambda: not _archived(edge), "a volume that is empty again")


def _archived(edge: Edge) -> int:
    return sum(_rows(path) for path in edge.site.volume.glob(".millpond/request-logs/*/*.jsonl"))


def _received(edge: Edge) -> int:
    with edge.server.deps.db.read() as tx:
        return sum(one.rows for one in request_logs.waiting(tx, limit=100))


def _rows(path: Path) -> int:
    try:
        return path.read_bytes().count(b"\n")
    except OSError:
        return 0
