"""Batch predictions: every sample once, whatever is cut off, shared out or unreadable."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millpond.serve.batch.merge import merge
from millpond.serve.batch.pieces import cut, skipped
from millpond.serve.batch.predicting import BatchJob, Progress, run
from millpond.serve.batch.reading import Array, read
from millpond.serve.config import ModelConfig, TensorConfig
from millpond.serve.errors import ServeError


def a_model(batch: int = 4, **inputs: tuple[str, tuple[int, ...]]) -> ModelConfig:
    named = {name: TensorConfig(name, kind, dims) for name, (kind, dims) in inputs.items()}
    outputs = {"y": TensorConfig("y", "FP32", (1,))}
    return ModelConfig("m", "python", "", batch, named, outputs, 1, None, {}, None)


VECTOR = a_model(x=("FP32", (2,)))


def doubled(inputs: Mapping[str, Array]) -> dict[str, Array]:
    return {"y": inputs["x"].sum(axis=1, keepdims=True) * 2}


def predicted(folder: Path) -> dict[tuple[str, int], float]:
    found: dict[tuple[str, int], float] = {}
    for path in sorted(folder.glob("part-*.parquet")):
        for row in pq.read_table(path).to_pylist():
            key = (row["source"], row["row"])
            assert key not in found, "predicted twice"
            found[key] = row["y"]
    return found


def a_folder(folder: Path) -> Path:
    """Two tables and 300 arrays."""
    folder.mkdir()
    table = pa.table({"a": [1.0, 2.0, 3.0], "b": [0.5, 0.5, 0.5], "name": ["x", "y", "z"]})
    pq.write_table(table, folder / "one.parquet")
    pyarrow.csv.write_csv(table, folder / "two.csv")
    (folder / "arrays").mkdir()
    for number in range(300):
        np.save(folder / "arrays" / f"{number:03d}.npy", np.array([number, 1.0]))
    (folder / "README.md").write_text("no data")
    (folder / ".hidden.csv").write_text("a\n1\n")
    return folder


def done(folder: Path, kept: Path, predict: Any = doubled, **otherwise: Any) -> Progress:
    job = BatchJob(folder, kept, VECTOR, **otherwise)
    return run(job, cut(folder), predict, lambda _: None)


def test_every_sample_is_predicted_once(tmp_path: Path) -> None:
    folder = a_folder(tmp_path / "data")
    found = done(folder, tmp_path / "kept")
    rows = predicted(tmp_path / "kept")
    assert found.samples == len(rows) == 306 and not found.errors
    assert rows["one.parquet", 2] == 7.0 and rows["two.csv", 0] == 3.0 and rows["arrays/299.npy", 0] == 600.0
    assert skipped(folder) == ["README.md"]


def test_what_was_kept_is_not_predicted_again(tmp_path: Path) -> None:
    folder, kept = a_folder(tmp_path / "data"), tmp_path / "kept"
    asked = 0

    def dies_later(inputs: Mapping[str, Array]) -> dict[str, Array]:
        nonlocal asked
        asked += 1
        if asked > 280:
            raise KeyboardInterrupt
        return doubled(inputs)

    with pytest.raises(KeyboardInterrupt):
        done(folder, kept, dies_later)
    before = {path: path.stat().st_mtime_ns for path in kept.glob("part-*")}
    assert before, "some pieces were whole"
    again = done(folder, kept)
    assert again.resumed == len(before) and again.samples == len(predicted(kept)) == 306
    assert {path: path.stat().st_mtime_ns for path in before} == before


@given(st.integers(1, 7), st.integers(0, 40))
def test_shards_share_everything_out(shards: int, count: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number in range(count):
            (folder / f"{number}.csv").write_text("a,b\n1,2\n")
        every = [path for shard in range(shards) for piece in cut(folder, shard, shards) for path in piece.paths]
        names = [piece.name for shard in range(shards) for piece in cut(folder, shard, shards)]
    assert sorted(every) == sorted(f"{number}.csv" for number in range(count)) and len(set(names)) == len(names)


def test_a_file_that_cannot_be_read_fails_or_is_listed(tmp_path: Path) -> None:
    folder = a_folder(tmp_path / "data")
    (folder / "arrays/007.npy").write_bytes(b"broken")
    with pytest.raises(ServeError, match=r"arrays/007\.npy"):
        done(folder, tmp_path / "strict")
    found = done(folder, tmp_path / "kept", max_errors=1)
    assert [path for path, _ in found.errors] == ["arrays/007.npy"] and found.samples == 305
    again = done(folder, tmp_path / "kept", max_errors=1)
    assert again.errors == found.errors, "also when nothing is predicted again"


def test_columns_are_chosen_or_refused(tmp_path: Path) -> None:
    table = pa.table({"a": [1.0], "b": [2.0], "c": [4.0]})
    pq.write_table(table, tmp_path / "t.parquet")
    with pytest.raises(ServeError, match=r"has 3 columns of numbers \(a, b, c\): choose with --columns"):
        list(read(tmp_path, "t.parquet", VECTOR))
    (samples,) = read(tmp_path, "t.parquet", VECTOR, ["c", "a"])
    assert samples.inputs["x"].tolist() == [[4.0, 1.0]]
    with pytest.raises(ServeError, match="has no column 'd'"):
        list(read(tmp_path, "t.parquet", VECTOR, ["a", "d"]))


def test_a_table_with_columns_named_as_the_inputs(tmp_path: Path) -> None:
    config = a_model(x=("FP32", (2,)), n=("INT64", (1,)), text=("BYTES", (1,)))
    pq.write_table(pa.table({"x": [[1.0, 2.0]], "n": [7], "text": ["hi"], "more": [0]}), tmp_path / "t.parquet")
    (samples,) = read(tmp_path, "t.parquet", config)
    found = samples.inputs
    assert found["x"].tolist() == [[1.0, 2.0]] and found["n"].tolist() == [[7]] and found["text"][0][0] == b"hi"
    pq.write_table(pa.table({"x": [[1.0, 2.0]], "n": ["seven"], "text": ["hi"]}), tmp_path / "t.parquet")
    with pytest.raises(ServeError, match="column 'n' is not INT64"):
        list(read(tmp_path, "t.parquet", config))


@pytest.mark.parametrize(("dims", "shape"), [((3, 8, 6), (1, 3, 8, 6)), ((8, 6, 1), (1, 8, 6, 1))])
def test_images_get_the_layout_of_the_input(tmp_path: Path, dims: tuple[int, ...], shape: tuple[int, ...]) -> None:
    image = pytest.importorskip("PIL.Image")
    image.new("RGB", (20, 10), (255, 0, 0)).save(tmp_path / "red.png")
    (samples,) = read(tmp_path, "red.png", a_model(image=("FP32", dims)))
    array = samples.inputs["image"]
    assert array.shape == shape and 0.0 <= array.min() <= array.max() <= 1.0
    with pytest.raises(ServeError, match="is no image"):
        list(read(tmp_path, "red.png", VECTOR))


def test_merging_keeps_everything(tmp_path: Path) -> None:
    for shard in range(3):
        folder = tmp_path / "parts" / str(shard)
        folder.mkdir(parents=True)
        (folder / f"part-{shard:06d}.parquet").write_bytes(os.urandom(10))
    (tmp_path / "parts/0/_shard-0.json").write_text("{}\n")
    assert merge(tmp_path / "parts", tmp_path / "all") == 3
    assert len(list((tmp_path / "all").iterdir())) == 4
