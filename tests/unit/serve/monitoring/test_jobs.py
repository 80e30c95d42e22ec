"""The programs that jobs run over a request log: drift against a reference, replay on a version."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import millpond.serve
from millpond.serve.monitoring.comparing import MOST_SAMPLES, sample_of_requests
from millpond.serve.monitoring.drift_job import measured
from millpond.serve.monitoring.replay_job import replayed
from millpond.testing.serving import write_python_model

NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)
DRIFT = {"endpoint": "xray", "path": "", "columns": ["age"], "rows": 1000}
REPLAY = {"endpoint": "xray", "version": None, "limit": 1000}


def window(**more: Any) -> dict[str, Any]:
    return {"since": (NOON - timedelta(hours=1)).isoformat(), "until": NOON.isoformat(), **more}


def row(age: float, answer: float, *, at: datetime = NOON - timedelta(minutes=5), **more: Any) -> dict[str, Any]:
    tensor = {"shape": [1], "datatype": "FP32"}
    return {
        "id": f"r{age:.3f}", "time": at.timestamp(), "endpoint": "xray", "version": 1, "status": 200, "ms": 2.0,
        "request": json.dumps({"inputs": [{"name": "x", **tensor, "data": [age]}]}),
        "response": json.dumps({"outputs": [{"name": "y", **tensor, "data": [answer]}]}),
        **more,
    }  # fmt: skip


def write_log(folder: Path, rows: list[dict[str, Any]]) -> Path:
    path = folder / "requests/2026-03-04/115500-abc.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("".join(f"{json.dumps(one)}\n" for one in rows))
    (folder / "README.md").write_text("no table")
    return folder


def ages(mean: float, count: int, seed: int = 1) -> list[float]:
    chance = random.Random(seed)
    return [chance.gauss(mean, 5) for _ in range(count)]


@pytest.fixture
def reference(tmp_path: Path) -> Path:
    folder = tmp_path / "reference"
    folder.mkdir()
    (folder / "train.csv").write_text("age\n" + "".join(f"{one}\n" for one in ages(40, 500)))
    return folder


def test_drift_is_measured_in_the_window_by_column_and_version(tmp_path: Path, reference: Path) -> None:
    moved = [row(age, age * 2, version=2) for age in ages(60, 60, seed=2)]
    same = [row(age, age * 2) for age in ages(40, 200, seed=3)]
    early = [row(age, 0, at=NOON - timedelta(hours=2)) for age in ages(90, 500)]
    failed = [row(age, 0, status=500) for age in ages(90, 500)]
    other = [row(age, 0, endpoint="other") for age in ages(90, 500)]
    log = write_log(tmp_path / "log", [*moved, *same, *early, *failed, *other])
    found = measured(window(**DRIFT), log, reference)
    assert found["error"] == "" and (found["requests"], found["requests_of"]) == (260, 260)
    assert found["columns"].keys() == {"inputs.x"} and found["unmatched"] == ["outputs.y"]
    assert found["columns"]["inputs.x"]["level"] == "much" and found["reference_rows"] == 500
    levels = {number: (one["level"], one["requests"]) for number, one in found["versions"].items()}
    assert levels == {"1": ("none", 200), "2": ("much", 60)}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"endpoint": "nobody"}, "No inputs or outputs were logged in this window."),
        ({"path": "missing/"}, "The reference has no tables at missing/."),
        ({"columns": ["height"]}, "The reference has no column 'height'. It has age."),
    ],
)
def test_what_cannot_be_compared_is_said(tmp_path: Path, reference: Path, change: dict[str, Any], said: str) -> None:
    log = write_log(tmp_path / "log", [row(age, 0) for age in ages(40, 50)])
    assert said in measured(window(**{**DRIFT, **change}), log, reference)["error"]


def test_a_large_request_does_not_fill_the_memory() -> None:
    values = [float(number) for number in range(10 * MOST_SAMPLES)]
    tensor = {"name": "x", "shape": [len(values), 1], "datatype": "FP32", "data": values}
    found = sample_of_requests([{"version": 1, "request": json.dumps({"inputs": [tensor]})}], 10).columns()
    assert len(found.columns["inputs.x"]) == MOST_SAMPLES


@pytest.fixture
def doubling(tmp_path: Path) -> Path:
    folder = tmp_path / "models/double"
    config = 'backend: "python"\ninput [{name: "x" data_type: TYPE_FP32 dims: [-1]}]\n'
    config += 'output [{name: "y" data_type: TYPE_FP32 dims: [-1]}]\n'
    code = "class Model:\n    def predict(self, inputs):\n"
    code += "        if inputs['x'][0] < 0: raise ValueError('too young')\n        return {'y': inputs['x'] * 2}\n"
    (folder / "1").mkdir(parents=True)
    (folder / "config.pbtxt").write_text(config)
    (folder / "1/model.py").write_text(code)
    return folder


def test_answers_of_a_version_are_compared_with_those_given(tmp_path: Path, doubling: Path) -> None:
    right = [row(age, age * 2) for age in ages(40, 30)]
    wrong = [row(7, 21, id="odd"), row(-1, 0, id="young")]
    hidden = [row(8, 16, request=json.dumps({"inputs": [{"name": "x", "redacted": True}]}))]
    log = write_log(tmp_path / "log", [*right, *wrong, *hidden])
    found = replayed(window(**REPLAY), log, doubling)
    counts = {key: found[key] for key in ("of", "requests", "skipped", "failed", "samples", "agreed")}
    assert counts == {"of": 33, "requests": 32, "skipped": 1, "failed": 1, "samples": 31, "agreed": 30}
    assert found["error"] == "" and "too young" in found["failure"] and found["largest_difference"] == 7.0
    assert found["different"] == ["odd", "young"] and found["logged_ms"] == 2.0 and found["ms"] > 0
    few = replayed(window(**{**REPLAY, "limit": 5}), log, doubling)
    assert (few["requests"] + few["skipped"], few["of"]) == (5, 33)
    assert replayed(window(**{**REPLAY, "version": 9}), log, doubling)["error"].startswith("No requests")


def test_a_version_that_cannot_be_loaded_is_the_error(tmp_path: Path) -> None:
    log = write_log(tmp_path / "log", [row(1, 2)])
    code = "class Model:\n    def load(self, path): raise OSError('no weights')"
    found = replayed(window(**REPLAY), log, write_python_model(tmp_path / "models", "broken", code))
    assert "no weights" in found["error"] and found["requests"] == 0


def test_jobs_run_it_without_millpond(tmp_path: Path, reference: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work/millpond_serve").symlink_to(Path(millpond.serve.__file__).parent)
    (tmp_path / "params.json").write_text(json.dumps(window(**DRIFT)))
    log = write_log(tmp_path / "log", [row(age, 0) for age in ages(40, 50)])
    env = {
        "MILL_PARAMS": str(tmp_path / "params.json"), "MILL_OUTPUT": str(tmp_path), "MILL_INPUT_LOG": str(log),
        "MILL_INPUT_REFERENCE": str(reference),
    }  # fmt: skip
    command = [sys.executable, "-m", "millpond_serve.monitoring.drift_job"]
    done = subprocess.run(command, cwd=tmp_path / "work", env=env, capture_output=True, text=True, check=True)
    assert "50 of 50 requests compared." in done.stdout
    assert json.loads((tmp_path / "drift.json").read_text())["columns"]["inputs.x"]["level"] == "none"
