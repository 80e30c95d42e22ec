"""Both ways learn the same log, and what is no click log is refused with words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from millpond.testing.components import run, try_run

pytest.importorskip("distributed", reason="needs distributed: pip install 'millpond[library]'")
pytest.importorskip("xgboost", reason="needs xgboost-cpu: pip install 'millpond[library]'")
pytest.importorskip("sklearn", reason="needs scikit-learn: pip install 'millpond[library]'")

HERE = Path(__file__).resolve().parent


def test_both_learn_more_than_the_most_frequent_answer(tmp_path: Path) -> None:
    ran = run(HERE.parent, work=tmp_path, inputs={}, params={"rows": 6000, "workers": 1})
    found = json.loads((ran.path("metrics") / "metrics.json").read_text())
    assert {one["rows"] for one in found.values()} == {6000}
    assert all(one["accuracy"] > 0.76 and one["memory"] > 0 for one in found.values())
    assert ran.outputs["accuracy"] == found["Dask + XGBoost"]["accuracy"]
    assert "47 min 21 s" in (ran.path("metrics") / "comparison.md").read_text()


def test_what_is_no_click_log_says_why(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    ran = try_run(HERE.parent, work=tmp_path / "work", inputs={"clicks": tmp_path / "empty"}, params={})
    assert ran.problem == "exit code 1" and "no Parquet files" in ran.log and "Traceback" not in ran.log
