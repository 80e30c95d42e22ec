"""`mill model check`: a version is loaded and run in a job of a real agent, and what was found out is kept with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from millpond.model.ids import new_id
from millpond.testing.up import MillUp
from tests.integration.cli import Mill

CONFIG = """\
backend: "python"
max_batch_size: 16
input [{name: "x", data_type: TYPE_FP32, dims: [2]}]
output [{name: "y", data_type: TYPE_FP32, dims: [1]}]
"""
GOOD = """\
class Model:
    def predict(self, inputs):
        return {"y": inputs["x"].sum(axis=1, keepdims=True)}
"""


@pytest.fixture
def mill(shared_up: MillUp, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Mill:
    pytest.importorskip("tritonclient")
    return Mill(shared_up, capsys, tmp_path)


def register(mill: Mill, tmp_path: Path, name: str, code: str) -> None:
    (tmp_path / "model/1").mkdir(parents=True, exist_ok=True)
    (tmp_path / "model/1/model.py").write_text(code)
    (tmp_path / "model/config.pbtxt").write_text(CONFIG)
    mill.ok("model", "register", name, "--from", "./model")


def test_a_version_is_loaded_and_measured_in_a_job(mill: Mill, tmp_path: Path) -> None:
    name = f"sum-{new_id().lower()}"
    register(mill, tmp_path, name, GOOD)
    assert mill.ok("model", "show", f"{name}@1", "--json").json["check"] is None
    started = mill("model", "check", name, "--no-environment", "--json")
    checked = started.json["check"]
    assert started.code == 0, (checked, mill("logs", checked["job"]).out)
    assert (checked["state"], checked["backend"], checked["error"]) == ("passed", "python", None)
    assert checked["median_ms"] > 0 and checked["load_ms"] > 0 and checked["peak_memory"] > 1_000_000
    assert checked["inputs"] == [{"name": "x", "datatype": "FP32", "shape": [-1, 2]}]
    shown = mill.ok("model", "show", f"{name}@1").out
    assert "passed with python" in shown and "ms median" in shown
    register(mill, tmp_path, name, "raise RuntimeError('no weights')\n")
    failed = mill("model", "check", f"{name}@2", "--no-environment", "--json")
    assert failed.code == 100
    assert failed.json["check"]["state"] == "failed"
    assert f"cannot load model '{name}' version 2: model.py: RuntimeError: no weights" == failed.json["check"]["error"]
    assert mill.ok("model", "show", f"{name}@1", "--json").json["check"]["state"] == "passed"


def test_a_version_is_tried_on_this_machine(mill: Mill, tmp_path: Path) -> None:
    name = f"sum-{new_id().lower()}"
    register(mill, tmp_path, name, GOOD)
    assert mill.ok("model", "check", name, "--local", "--json").json["passed"] is True
    assert mill.ok("model", "show", f"{name}@1", "--json").json["check"] is None
    assert "Cannot combine" in mill("model", "check", name, "--local", "--no-wait").err
