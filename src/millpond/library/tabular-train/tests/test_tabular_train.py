"""A classifier and a regressor learn what is in the table, and are saved as models that answer the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from millpond.testing.components import run, try_run

pytest.importorskip("skl2onnx", reason="needs skl2onnx: pip install 'millpond[library]'")
ort = pytest.importorskip("onnxruntime", reason="needs onnxruntime: pip install 'millpond[library]'")

HERE = Path(__file__).resolve().parent
DATA = HERE / "data"


def test_a_classifier_is_saved_in_the_layout_that_is_served(tmp_path: Path) -> None:
    ran = run(HERE.parent, work=tmp_path, inputs={"data": DATA}, params={"target": "species", "trees": 30})
    assert ran.outputs["score"] > 0.8
    model = ran.path("model")
    signature = json.loads((model / "signature.json").read_text())
    assert signature["classes"] == ["ash", "elm", "oak"]
    assert (model / "labels.txt").read_text().split() == signature["classes"]
    assert 'backend: "onnxruntime"' in (model / "config.pbtxt").read_text()
    session = ort.InferenceSession(model / "1" / "model.onnx")
    label, _ = session.run(None, {"length": [[9.5]], "width": [[5.2]], "place": [["hill"]]})
    assert label.tolist() == ["oak"]
    metrics = json.loads((ran.path("metrics") / "metrics.json").read_text())
    assert metrics["accuracy"] == ran.outputs["score"] and len(metrics["confusion_matrix"]) == 3


def test_a_regressor_is_chosen_by_the_target(tmp_path: Path) -> None:
    params = {"target": "length", "algorithm": "random-forest", "trees": 20}
    ran = run(HERE.parent, work=tmp_path, inputs={"data": DATA, "data_test": DATA}, params=params)
    assert ran.outputs["score"] > 0.7
    assert json.loads((ran.path("model") / "signature.json").read_text())["task"] == "regression"


@pytest.mark.parametrize("algorithm", ["random-forest", "gradient-boosting"])
def test_limits_of_trees_are_the_same_in_the_saved_model(tmp_path: Path, algorithm: str) -> None:
    """Numbers that lie exactly on limits, as those of sensors do."""
    steps = [(number % 320 / 4 + 20, number * 7 % 80 / 8, number * 13 % 64 / 64) for number in range(300)]
    lines = [f"{t},{v},{w},{'yes' if t + 6 * v + 20 * w > 110 else 'no'}" for t, v, w in steps]
    (tmp_path / "table").mkdir()
    (tmp_path / "table" / "rows.csv").write_text("\n".join(["heat,shake,load,fault", *lines]) + "\n")
    params = {"target": "fault", "algorithm": algorithm, "trees": 20}
    ran = run(HERE.parent, work=tmp_path / "work", inputs={"data": tmp_path / "table"}, params=params)
    assert ran.outputs["score"] > 0.8


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"target": "colour"}, "no column 'colour'"),
        ({"target": "species", "task": "regression"}, "holds text"),
    ],
)
def test_what_cannot_be_learned_says_why(tmp_path: Path, params: dict[str, Any], words: str) -> None:
    ran = try_run(HERE.parent, work=tmp_path, inputs={"data": DATA}, params=params)
    assert ran.problem == "exit code 1" and words in ran.log and "Traceback" not in ran.log
