"""`mill model batch`: a version over a dataset, in jobs of a real agent, committed once."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from millpond.model.ids import new_id
from millpond.testing.up import MillUp
from tests.integration.cli import Mill

MODEL = """\
class Model:
    def load(self, path):
        pass

    def predict(self, inputs):
        return {"y": inputs["x"].sum(axis=1, keepdims=True)}
"""
CONFIG = """\
backend: "python"
max_batch_size: 16
input [{name: "x", data_type: TYPE_FP32, dims: [2]}]
output [{name: "y", data_type: TYPE_FP32, dims: [1]}]
"""


@pytest.fixture
def mill(shared_up: MillUp, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Mill:
    return Mill(shared_up, capsys, tmp_path)


@pytest.fixture
def name(mill: Mill, tmp_path: Path) -> str:
    """A model and a dataset of this name: three tables of 40 rows."""
    pytest.importorskip("tritonclient")
    name = f"sum-{new_id().lower()}"
    (tmp_path / "model/1").mkdir(parents=True)
    (tmp_path / "model/1/model.py").write_text(MODEL)
    (tmp_path / "model/config.pbtxt").write_text(CONFIG)
    mill.ok("model", "register", name, "--from", "./model")
    folder = tmp_path / "rows"
    folder.mkdir()
    for number in range(3):
        rows = [float(number * 40 + row) for row in range(40)]
        pq.write_table(pa.table({"a": rows, "b": [1.0] * 40}), folder / f"{number}.parquet")
    mill.ok("data", "init", name, cwd=folder)
    mill.ok("data", "sync", cwd=folder)
    return name


def test_a_dataset_is_predicted_in_shards_and_committed_once(mill: Mill, name: str, tmp_path: Path) -> None:
    ask = (
        "model",
        "batch",
        f"{name}@1",
        "--input",
        name,
        "--output",
        f"{name}-out",
        "--shards",
        "5",
        "--no-environment",
    )
    run = mill.ok(*ask, "--wait", "--json").json
    assert run["state"] == "succeeded"
    mill.ok("data", "clone", f"{name}-out", str(tmp_path / "out"))
    found = pq.read_table(tmp_path / "out").to_pylist()
    assert {(row["source"], row["row"]): row["y"] for row in found} == {
        (f"{number}.parquet", row): number * 40 + row + 1.0 for number in range(3) for row in range(40)
    }
    assert len(found) == 120, "more shards than files: some had nothing to do"
    again = mill.ok(*ask, "--wait", "--json").json
    assert {step["state"] for step in again["steps"] if step["job"] is None} >= {"remembered"}
    assert len(mill.ok("data", "log", f"{name}-out", "--json").json["items"]) == 1, "the same predictions, no commit"


def test_what_cannot_be_predicted_is_refused(mill: Mill, name: str, tmp_path: Path) -> None:
    def refused(*arguments: str) -> str:
        done = mill("model", "batch", *arguments, "--no-environment")
        assert done.code != 0
        return done.err

    assert "has no version '7'" in refused(f"{name}@7", "--input", name, "--output", "out")
    assert "cannot be written to other/out" in refused(name, "--input", name, "--output", "other/out")
    (tmp_path / "weights").mkdir()
    (tmp_path / "weights/w.bin").write_bytes(b"w")
    mill.ok("model", "register", f"{name}-w", "--from", "./weights")
    assert "has no model that can be run" in refused(f"{name}-w", "--input", name, "--output", "out")


@pytest.mark.long
def test_a_dataset_without_anything_to_predict_is_told(mill: Mill, name: str, tmp_path: Path) -> None:
    (tmp_path / "text").mkdir()
    (tmp_path / "text/a.txt").write_text("text")
    mill.ok("data", "init", f"{name}-text", cwd=tmp_path / "text")
    mill.ok("data", "sync", cwd=tmp_path / "text")
    into = ("--input", f"{name}-text", "--output", f"{name}-none")
    assert mill("model", "batch", name, *into, "--no-environment", "--wait").code != 0
    log = mill.ok("flow", "logs", f"batch-{name}-{name}-none"[:63]).out
    assert "the dataset has no tables, arrays or images: it has 1 files, like a.txt" in log
