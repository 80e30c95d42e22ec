"""`mill perf mlperf`: LoadGen against real model servers, by their files and as they run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from millpond.testing.serving import write_python_model
from millpond.testing.up import MillUp
from tests.integration.cli import Mill

pytest.importorskip("mlperf_loadgen", reason="LoadGen is not installed: pip install 'millpond[perf]'")

CODE = "class Model:\n    def predict(self, inputs):\n        return {'y': inputs['x'] * 2}\n"
CONFIG = """\
backend: "python"
max_batch_size: 4
input [{name: "x", data_type: TYPE_FP32, dims: [3]}]
output [{name: "y", data_type: TYPE_FP32, dims: [3]}]
"""
SHORT = ("--seconds", "1s", "--samples", "8")


@pytest.fixture
def mill(shared_up: MillUp, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Mill:
    return Mill(shared_up, capfd, tmp_path)


def measured(mill: Mill, *arguments: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = mill.ok("perf", "mlperf", *arguments, *SHORT, "--json").json["items"]
    return found


def test_a_registered_model_is_measured_and_recorded(mill: Mill, tmp_path: Path) -> None:
    write_python_model(tmp_path, "doubled", CODE, CONFIG)
    mill.ok("model", "register", "doubled", "--from", "./doubled")
    rows = measured(
        mill, "doubled@1", "--scenario", "single", "--storage", "local,shared", "--protocol", "http,grpc",
        "--reference", "doubled@1",
    )  # fmt: skip
    assert len(rows) == 4 and all(row["value"] > 0 and row["quality"] == 1.0 for row in rows)
    assert {(row["storage"], row["protocol"]) for row in rows} == {
        (storage, protocol) for storage in ("local", "shared") for protocol in ("http", "grpc")
    }
    assert all(row["p99_ms"] > 0 for row in rows), rows
    table = mill.ok("perf", "table").out
    assert "doubled" in table and "not run" in table and "TR-4886" in table
    single = next(one for one in mill.ok("perf", "table", "--json").json["tables"] if one["scenario"] == "single")
    mine = next(row for row in single["rows"] if row["task"] == "doubled")
    assert sum(one is not None for one in mine["results"]) == 4 and mine["shared_to_local"] > 0
    assert {one["model"] for one in mine["results"] if one} == {"doubled@1"}
    runs = mill.ok("run", "list", "--experiment", "mlperf", "--json").json["items"]
    assert len([run for run in runs if run["params"].get("model") == "doubled@1" and run["parent"]]) == 4


def test_what_cannot_be_measured_is_said(mill: Mill, tmp_path: Path) -> None:
    def refused(*arguments: str) -> str:
        done = mill("perf", "mlperf", *arguments, *SHORT, "--no-record")
        assert done.code != 0
        return done.err

    assert "is not a folder" in refused("./nothing")
    assert "needs the name of the model" in refused("http://127.0.0.1:1")
    assert "Unknown scenario 'fast'" in refused("./x", "--scenario", "fast")
    assert "--servers 'two' is not a list of numbers" in refused("./x", "--servers", "two")
    (tmp_path / "empty").mkdir()
    assert "did not become ready" in refused("./empty")
    write_python_model(tmp_path, "m", CODE, CONFIG)
    assert "is no shared storage" in refused("./m", "--storage", "shared")
    assert "need 99 cores" in refused("./m", "--servers", "99")


def test_a_server_that_is_gone_makes_no_result(mill: Mill) -> None:
    (row,) = measured(mill, "http://127.0.0.1:9", "--model", "m", "--scenario", "single", "--no-record")
    assert row["value"] is None and not row["valid"] and "does not answer" in row["reason"]
