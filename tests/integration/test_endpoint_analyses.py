"""Analyses of a request log by real jobs: drift against a reference, measured near the data."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path
from typing import Any

import pytest

import millpond
from millpond.testing.daemons import free_port
from millpond.testing.up import MillUp
from tests.integration.cli import Mill
from tests.integration.test_endpoints import register

REQUESTS = 120


def _ages(mean: float, count: int, seed: int) -> list[float]:
    chance = random.Random(seed)
    return [round(chance.gauss(mean, 5), 3) for _ in range(count)]


def _row(name: str, number: int, age: float) -> dict[str, Any]:
    """The endpoint's version has doubled its input; the last two answers were others."""
    tensor = {"shape": [1], "datatype": "FP32"}
    answer = age * 2 if number < REQUESTS - 2 else 0.0
    return {
        "id": f"r{number}", "time": time.time() - 60, "endpoint": name, "model": name, "version": 1, "status": 200,
        "ms": 1.5, "request": json.dumps({"inputs": [{"name": "x", **tensor, "data": [age]}]}),
        "response": json.dumps({"outputs": [{"name": "y", **tensor, "data": [answer]}]}),
    }  # fmt: skip


def _sync(mill: Mill, folder: Path, name: str, path: str, text: str) -> None:
    (folder / path).parent.mkdir(parents=True)
    (folder / path).write_text(text)
    mill.ok("data", "init", name, cwd=folder)
    mill.ok("data", "sync", cwd=folder)


def _endpoint(mill: Mill, tmp_path: Path, name: str, **more: Any) -> None:
    """An endpoint scaled to zero, with a log of requests whose ages are around 60."""
    register(mill, tmp_path / "model", name, 2)
    port = free_port(3)
    asked = {
        "schema": "millpond.endpoint/1", "name": name, "versions": [{"model": f"{name}@1", "weight": 100}],
        "sites": {"local": {"min": 0, "max": 1}}, "environment": "none",
        "ports": {"http": port, "grpc": port + 1, "metrics": port + 2},
        "log": {"level": "full", "to": f"{name}-log@main"}, **more,
    }  # fmt: skip
    (tmp_path / "endpoint.yaml").write_text(json.dumps(asked))
    mill.ok("endpoint", "create", "-f", str(tmp_path / "endpoint.yaml"), "--unchecked")
    rows = [_row(name, number, age) for number, age in enumerate(_ages(60, REQUESTS, 1))]
    day = time.strftime("%Y-%m-%d", time.gmtime(rows[0]["time"]))
    text = "".join(f"{json.dumps(one)}\n" for one in rows)
    _sync(mill, tmp_path / "log", f"{name}-log", f"requests/{day}/part.jsonl", text)


def test_drift_is_measured_by_a_job_and_told(
    shared_up: MillUp, capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mill, name = Mill(shared_up, capfd, tmp_path), "drifting"
    table = "age\n" + "".join(f"{age}\n" for age in _ages(40, 300, 2))
    _sync(mill, tmp_path / "train", f"{name}-train", "train.csv", table)
    _endpoint(mill, tmp_path, name, drift={"reference": f"{name}-train@main", "columns": ["age"]})
    assert "Nothing was compared yet" in mill.ok("endpoint", "drift", name).err
    found = mill.ok("endpoint", "drift", name, "--now", "--json").json
    newest = found["newest"]
    assert newest is not None, found["pending"]
    (column,) = newest["columns"]
    assert (column["column"], column["level"], column["is_alert"]) == ("inputs.x", "much", True)
    assert newest["requests"] == REQUESTS and newest["unmatched"] == ["outputs.y"]
    shown = mill.ok("endpoint", "drift", name)
    assert "inputs.x" in shown.out and "is above 0.2" in shown.err
    run = mill.ok("run", "show", newest["run"], "--json").json
    assert run["experiment"] == f"drift-{name}" and run["metrics"]["psi/inputs.x"] == column["psi"]
    assert any("Drift of inputs.x" in one for one in mill.ok("why", name, "--json").json["reasons"])
    monkeypatch.setenv("MILL_HOME", str(shared_up.home))
    endpoint = millpond.Endpoint(name, server=shared_up.url, project="default")
    history = endpoint.drift_history().history
    assert [one.psi for one in history] == [{"inputs.x": column["psi"]}] and endpoint.drift_alerts
    with shared_up.client() as client:
        metrics = client.get(f"{shared_up.url}/metrics").text
    assert "millpond_endpoint_drift_psi{" in metrics
    mill.ok("endpoint", "delete", name, "--yes")


def test_logged_requests_are_asked_of_a_version_by_a_job(
    shared_up: MillUp, capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mill, name = Mill(shared_up, capfd, tmp_path), "replayed"
    _endpoint(mill, tmp_path, name)
    register(mill, tmp_path / "other", name, 3)
    same = mill.ok("endpoint", "replay", name, "--on", f"{name}@1", "--json").json
    assert (same["state"], same["requests"], same["failed"], same["samples"]) == ("done", REQUESTS, 0, REQUESTS)
    assert same["agreement"] == pytest.approx(1 - 2 / REQUESTS) and sorted(same["different"]) == ["r118", "r119"]
    run = mill.ok("run", "show", same["run"], "--json").json
    assert run["experiment"] == f"replay-{name}" and run["metrics"]["agreement"] == same["agreement"]
    assert run["params"]["candidate"] == f"{name}@1"
    again = mill.ok("endpoint", "replay", name, "--on", f"{name}@latest", "--limit", "10")
    assert "10 of 120 logged requests asked again: 0.00% agree." in again.out
    assert mill.ok("endpoint", "replay", name, "--on", f"{name}@1", "--json").json["id"] == same["id"], "done before"
    refused = mill("endpoint", "replay", name, "--on", f"{name}@9")
    assert refused.code != 0 and "9" in refused.err
    monkeypatch.setenv("MILL_HOME", str(shared_up.home))
    endpoint = millpond.Endpoint(name, server=shared_up.url, project="default")
    assert [(one.model, one.requests) for one in endpoint.replays()] == [(f"{name}@2", 10), (f"{name}@1", REQUESTS)]
    assert endpoint.replay_on(f"{name}@2", most=10).agreement == 0.0
    mill.ok("endpoint", "delete", name, "--yes")
