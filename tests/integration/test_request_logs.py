"""Requests of a real endpoint, from the router's log to a dataset, with a router that is killed on the way."""

from __future__ import annotations

import io
import json
import os
import signal
from pathlib import Path

import pytest
from pyarrow import parquet

from millpond.agent.keeper.processes import marked
from millpond.testing.daemons import free_port
from millpond.testing.up import MillUp
from millpond.testing.waiting import wait_until
from tests.integration.cli import Mill
from tests.integration.test_endpoints import ask, register


@pytest.mark.long
def test_requests_are_committed_once_although_the_router_is_killed(
    shared_up: MillUp, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    mill, port = Mill(shared_up, capfd, tmp_path), free_port(3)
    register(mill, tmp_path / "model", "logged-model", 2)
    asked = {
        "schema": "millpond.endpoint/1",
        "name": "logged",
        "versions": [{"model": "logged-model@1", "weight": 100}],
        "access": {"public": True},
        "environment": "none",
        "ports": {"http": port, "grpc": port + 1, "metrics": port + 2},
        "log": {"level": "full", "to": "logged-requests@main", "every": "5s"},
    }
    (tmp_path / "endpoint.yaml").write_text(json.dumps(asked))
    mill.ok("endpoint", "create", "-f", str(tmp_path / "endpoint.yaml"), "--unchecked", "--wait")
    for _ in range(20):
        assert ask(port, "logged")[0] == 200
    wait_until(lambda: _points(mill) == 20, within=60, what="points of all requests")
    _kill_router(mill)
    wait_until(lambda: _answers(port), within=60, what="the next router")
    clone = str(tmp_path / "clone")
    wait_until(lambda: mill("data", "clone", "logged-requests", clone).code == 0, within=150, what="the commit")
    rows = _rows(tmp_path / "clone")
    assert len(rows) == len({row["id"] for row in rows}) >= 20
    assert json.loads(rows[0]["request"])["inputs"][0]["data"] == [1, 2]
    again = mill.ok("endpoint", "replay", "logged", "--on", "logged", "--limit", "5", "--json").json
    assert (again["requests"], again["failed"], again["agreement"]) == (5, 0, 1.0)
    mill.ok("endpoint", "delete", "logged", "--yes")


def _points(mill: Mill) -> int:
    return sum(one["requests"] for one in mill.ok("endpoint", "metrics", "logged", "--json").json["items"])


def _kill_router(mill: Mill) -> None:
    for job in mill.ok("list", "--json").json["items"]:
        if job["name"].startswith("router-") and job["state"] == "running":
            placement = mill.ok("attempts", job["id"], "--json").json["items"][-1]["id"]
            for one in marked(placement):
                if b"router" in Path(f"/proc/{one.pid}/cmdline").read_bytes():
                    os.kill(one.pid, signal.SIGKILL)


def _answers(port: int) -> bool:
    try:
        return ask(port, "logged")[0] == 200
    except OSError:
        return False


def _rows(folder: Path) -> list[dict[str, str]]:
    found = []
    for path in sorted(folder.rglob("*.parquet")):
        found += parquet.read_table(io.BytesIO(path.read_bytes())).to_pylist()
    return found
