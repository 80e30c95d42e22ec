"""Scores are right, intervals hold them, and a baseline decides what is better."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from millpond.testing.components import run, try_run

pytest.importorskip("onnxruntime", reason="needs onnxruntime: pip install 'millpond[library]'")

HERE = Path(__file__).resolve().parent
MODEL, TABLE = HERE / "data" / "model", HERE / "data" / "table"
PARAMS = {"target": "y", "samples": 100}


def test_scores_have_intervals_and_an_equal_baseline_is_not_beaten(tmp_path: Path) -> None:
    inputs = {"model": MODEL, "data": TABLE, "baseline": MODEL}
    ran = run(HERE.parent, work=tmp_path, inputs=inputs, params=PARAMS)
    metrics = json.loads((ran.path("metrics") / "metrics.json").read_text())
    accuracy = metrics["scores"]["accuracy"]
    # The table has 20 rows; the model says "big" above 0.5, and two rows are labelled otherwise.
    assert ran.outputs["score"] == accuracy["value"] == 0.9
    assert accuracy["low"] <= 0.9 <= accuracy["high"] and accuracy["low"] < accuracy["high"]
    assert metrics["scores"]["confusion_matrix"]["counts"] == [[9, 1], [1, 9]]
    assert ran.outputs["better"] is False and ran.outputs["difference"] == 0
    assert "| accuracy | 0.9000" in (ran.path("report") / "report.md").read_text()
    assert len((ran.path("report") / "predictions.csv").read_text().splitlines()) == 21


def test_what_cannot_be_evaluated_says_why(tmp_path: Path) -> None:
    ran = try_run(HERE.parent, work=tmp_path, inputs={"model": TABLE, "data": TABLE}, params=PARAMS)
    assert "is not a model" in ran.log and "Traceback" not in ran.log
    ran = try_run(HERE.parent, work=tmp_path / "b", inputs={"model": MODEL, "data": TABLE}, params={"target": "z"})
    assert "Columns: x, y" in ran.log
