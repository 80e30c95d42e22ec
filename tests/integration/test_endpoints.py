"""Endpoints with a real server, agent, router and replicas: from a folder to answers, through updates and kills."""

from __future__ import annotations

import http.client
import json
import os
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from millpond.agent.keeper.processes import marked
from millpond.testing.daemons import free_port
from millpond.testing.up import MillUp, mill_up
from millpond.testing.waiting import wait_until
from tests.integration.cli import Mill

MODEL = """
import numpy as np

class Model:
    def predict(self, inputs):
        return {"y": inputs["x"] * FACTOR}
"""
CONFIG = """
backend: "python"
input [{name: "x" data_type: TYPE_FP32 dims: [-1]}]
output [{name: "y" data_type: TYPE_FP32 dims: [-1]}]
"""
BODY = json.dumps({"inputs": [{"name": "x", "shape": [2], "datatype": "FP32", "data": [1, 2]}]})


def register(mill: Mill, folder: Path, name: str, factor: int) -> None:
    (folder / "1").mkdir(parents=True, exist_ok=True)
    (folder / "1" / "model.py").write_text(MODEL.replace("FACTOR", str(factor)))
    (folder / "config.pbtxt").write_text(CONFIG)
    mill.ok("model", "register", name, "--from", str(folder))


def ask(port: int, name: str, headers: dict[str, str] | None = None) -> tuple[int, str | None, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("POST", f"/v2/models/{name}/infer", BODY, headers or {})
    answer = connection.getresponse()
    content = json.loads(answer.read())
    connection.close()
    return answer.status, answer.headers.get("mill-model-version"), content


@contextmanager
def load(port: int, name: str) -> Iterator[Counter[tuple[int, str | None]]]:
    """Two clients that ask all the time; what they were answered, by status and version."""
    found: Counter[tuple[int, str | None]] = Counter()
    over = threading.Event()

    def go() -> None:
        while not over.is_set():
            try:
                status, version, _ = ask(port, name)
            except OSError:
                status, version = 0, None
            found[status, version] += 1
            over.wait(0.005)

    clients = [threading.Thread(target=go) for _ in range(2)]
    for one in clients:
        one.start()
    try:
        yield found
    finally:
        over.set()
        for one in clients:
            one.join()


def shown(mill: Mill, name: str) -> dict[str, Any]:
    found: dict[str, Any] = mill.ok("endpoint", "show", name, "--json").json
    return found


def test_from_a_folder_to_answers_through_an_update_and_a_kill(
    shared_up: MillUp, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    mill, port = Mill(shared_up, capfd, tmp_path), free_port(3)
    for factor in (2, 3):
        register(mill, tmp_path / "model", "doubler", factor)
    made = mill.ok(
        "endpoint", "create", "doubling", "--model", "doubler@1", "--min", "2", "--public", "--environment", "none",
        "--port", str(port), "--unchecked", "--wait", "--json",
    ).json  # fmt: skip
    assert made["state"] == "ready" and len(made["replicas"]) == 2
    assert {"place", "fill", "load", "warm_up"} <= made["replicas"][0]["started"].keys()
    status, version, content = ask(port, "doubling")
    assert (status, version) == (200, "1") and content["outputs"][0]["data"] == [2.0, 4.0]
    assert ask(port, "doubler")[0] == 200, "by the model's own name, too"

    with load(port, "doubling") as answers:
        mill.ok("endpoint", "update", "doubling", "--model", "doubler@2", "--unchecked")
        wait_until(lambda: answers[200, "2"] > 50, within=60, what="answers of the new version")
        killed = next(one for one in shown(mill, "doubling")["replicas"] if one["version"] == 2)
        before = answers.total()
        kill_command(mill, killed["job"])
        wait_until(lambda: answers.total() > before + 100, within=60, what="answers after the kill")
    assert {status for status, _ in answers} == {200}, answers

    def ready() -> list[int]:
        return [one["version"] for one in shown(mill, "doubling")["replicas"] if one["state"] == "ready"]

    wait_until(lambda: ready() == [2, 2], within=60, what="both replicas of the new version")
    waiting_ends_for_a_version_that_never_loads(mill, tmp_path / "model")
    assert ask(port, "doubling")[:2] == (200, "2"), "the version before serves"
    lines = [json.loads(line) for line in mill.ok("endpoint", "logs", "doubling", "--json").out.splitlines()]
    assert {"doubler@2", "doubler@3"} <= {line["version"] for line in lines} and all("text" in line for line in lines)

    mill.ok("endpoint", "rollback", "doubling", "--to", "1")
    wait_until(lambda: ask(port, "doubling")[1] == "1", within=60, what="the version before")
    assert "doubler@1" in mill.ok("endpoint", "revisions", "doubling").out
    mill.ok("endpoint", "delete", "doubling", "--yes")
    wait_until(
        lambda: all(one["name"] != "doubling" for one in mill.ok("endpoint", "list", "--json").json["items"]),
        within=60, what="the end of the endpoint",
    )  # fmt: skip


def waiting_ends_for_a_version_that_never_loads(mill: Mill, folder: Path) -> None:
    (folder / "1" / "model.py").write_text("import no_such_package\n")
    mill.ok("model", "register", "doubler", "--from", str(folder))
    ended = mill("endpoint", "update", "doubling", "--model", "doubler@3", "--unchecked", "--wait", "--timeout", "2m")
    assert ended.code == 100, ended
    assert "doubler@3 failed to start 3 times" in ended.err and "no_such_package" in ended.err
    assert "doubler@2 still serves." in ended.err and "mill endpoint rollback doubling" in ended.err
    assert "no_such_package" in mill.ok("endpoint", "list").out


def test_answers_go_on_while_server_and_agent_are_gone(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    port, data = free_port(3), tmp_path / "up"
    with mill_up(data) as up:
        mill = Mill(up, capfd, tmp_path)
        token = create_gone(mill, tmp_path, port, least=1)
        assert ask(port, "gone")[0] == 401
        assert ask(port, "gone", token)[:2] == (200, "1")
        through = httpx.post(
            f"{up.url}/api/v1/projects/default/endpoints/gone/v2/models/gone/infer", content=BODY, headers=token,
            trust_env=False, timeout=60,
        )  # fmt: skip
        assert through.json()["outputs"][0]["data"] == [2.0, 4.0]
        assert through.headers["content-security-policy"] == "sandbox"
        up.kill()
        assert all(ask(port, "gone", token)[:2] == (200, "1") for _ in range(50))
        with mill_up(data, "--port", up.url.rpartition(":")[2], home=up.home) as again:
            mill = Mill(again, capfd, tmp_path)
            wait_until(lambda: shown(mill, "gone")["state"] == "ready", within=60, what="readiness")
            count_canary(mill, port, token)


@pytest.mark.long
def test_requests_wait_for_the_first_replica_after_none(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    port = free_port(3)
    with mill_up(tmp_path / "up") as up:
        mill = Mill(up, capfd, tmp_path)
        token = create_gone(mill, tmp_path, port, least=0)
        wait_until(lambda: not shown(mill, "gone")["replicas"], within=60, what="scaling to zero")
        assert ask(port, "gone", token)[:2] == (200, "1"), "it waited for the first replica"
        assert "waits for a replica" in mill.ok("why", "gone").out


def create_gone(mill: Mill, folder: Path, port: int, *, least: int) -> dict[str, str]:
    """An endpoint that scales down soon, and the header that opens it."""
    for factor in (2, 3):
        register(mill, folder / "model", "doubler", factor)
    site = mill.ok("site", "list", "--json").json["items"][0]["name"]
    file = folder / "endpoint.yaml"
    file.write_text(
        f"schema: millpond.endpoint/1\nname: gone\nversions: [{{model: doubler@1}}]\nenvironment: none\n"
        f"sites: {{{site}: {{min: {least}, max: 1}}}}\nscale: {{idle_to_zero: 6s}}\n"
        f"ports: {{http: {port}, grpc: {port + 1}, metrics: {port + 2}}}\n"
    )
    mill.ok("endpoint", "create", "-f", str(file), "--unchecked", "--wait")
    return {"Authorization": f"Bearer {mill.ok('endpoint', 'token', 'create', 'gone').out.strip()}"}


def count_canary(mill: Mill, port: int, token: dict[str, str]) -> None:
    """Shares are exact: of a hundred requests the canary gets its weight."""
    mill.ok("endpoint", "canary", "gone", "--model", "doubler@2", "--weight", "20", "--unchecked")
    wait_until(lambda: ask(port, "gone", token)[1] == "2", within=60, what="the canary's first answer")
    versions = Counter(ask(port, "gone", token)[1] for _ in range(100))
    assert abs(versions["2"] - 20) <= 1, versions


def kill_command(mill: Mill, job: str) -> None:
    """kill -9 of the process that serves."""
    placement = mill.ok("attempts", job, "--json").json["items"][-1]["id"]
    serving = [one for one in marked(placement) if b"millpond_serve" in Path(f"/proc/{one.pid}/cmdline").read_bytes()]
    os.kill(serving[0].pid, signal.SIGKILL)
