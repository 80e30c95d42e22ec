"""A version is loaded and tried with inputs made from its signature."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from millpond.serve.check import check_model, main
from millpond.testing.serving import write_onnx_linear, write_python_model

CONFIG = """
    max_batch_size: 4
    input { name: "image" data_type: TYPE_FP32 dims: [3, -1, -1] }
    input { name: "title" data_type: TYPE_STRING dims: [1] }
    output { name: "y" data_type: TYPE_FP32 dims: [1] }
"""
NEEDS_32_PIXELS = """
    import numpy as np

    class Model:
        def predict(self, inputs):
            assert inputs["image"].shape[2] >= 32, "the image is too small"
            assert inputs["title"].tolist() == [[b""]]
            return {"y": np.zeros((len(inputs["image"]), 1), np.float32)}
"""


def test_measures_time_and_memory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_python_model(tmp_path, "m", NEEDS_32_PIXELS, CONFIG)
    report = tmp_path / "check.json"
    assert main([str(tmp_path / "m"), "--name", "m", "--json", str(report)]) == 0
    found = json.loads(report.read_text())
    assert (found["schema"], found["passed"], found["error"]) == ("millpond.model-check/1", True, None)
    assert (found["backend"], found["max_batch_size"], found["runs"]) == ("python", 4, 50)
    assert found["inputs"][0] == {"name": "image", "datatype": "FP32", "shape": [-1, 3, -1, -1]}
    assert found["load_ms"] > 0 and found["p95_ms"] >= found["median_ms"] > 0 and found["peak_memory"] > 1_000_000
    assert "m passed: median" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("code", "config", "error"),
    [
        ("class Model:\n    def predict(self, i):\n        raise ValueError('no')\n", CONFIG, "ValueError: no"),
        ("import nothing_of_that_name", CONFIG, "nothing_of_that_name"),
        ("class Model:\n    def predict(self, i):\n        return i\n", "", "inputs are not known"),
        ("class Model: pass", "sequence_batching { }", "sequence_batching"),
    ],
)  # fmt: skip
def test_says_why_a_version_cannot_be_served(tmp_path: Path, code: str, config: str, error: str) -> None:
    found = check_model(write_python_model(tmp_path, "m", code, config), "m")
    assert found.passed is False
    assert error in (found.error or "")


def test_a_model_without_a_config_is_tried_by_its_own_signature(tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    found = check_model(write_onnx_linear(tmp_path, "m"), "m")
    assert (found.passed, found.backend, found.outputs[0]["shape"]) == (True, "onnxruntime", [-1, 4])
