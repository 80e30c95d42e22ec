"""What a model says about an image folder or a table. ONNX needs onnxruntime, TorchScript needs torch."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pandas as pd
import step
import table_files
from PIL import Image

SUFFIXES = {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp"}
Tensors = dict[str, np.ndarray]


@dataclass(frozen=True)
class Rows:
    """`names` and `truth` of each row; `batch(first, last)` gives the model's inputs for some of them."""

    names: list[str]
    truth: list[Any]
    batch: Callable[[int, int], Tensors]


def read(data: Path, signature: dict[str, Any], target: str | None) -> Rows:
    return _images(data, signature) if "image" in signature else _table(data, signature, target)


def predict(file: Path, signature: dict[str, Any], rows: Rows, size: int) -> np.ndarray:
    """One row of numbers for each row: probabilities of classes, or one value."""
    run = _torch(file) if file.suffix == ".pt" else _onnx(file, signature)
    return np.concatenate([run(rows.batch(first, last)) for first, last in _parts(len(rows.truth), size)])


def _parts(count: int, size: int) -> Iterator[tuple[int, int]]:
    return ((first, min(first + size, count)) for first in range(0, count, size))


def _images(data: Path, signature: dict[str, Any]) -> Rows:
    files = sorted(
        path
        for folder in data.iterdir()
        if folder.is_dir() and not folder.name.startswith(".")
        for path in folder.rglob("*")
        if path.suffix.lower() in SUFFIXES
    )
    if not files:
        raise step.Problem(f"No images in class folders below {data}.")
    image, name = signature["image"], signature["inputs"][0]["name"]

    def pixels(path: Path) -> np.ndarray:
        mode = "L" if image["color"] == "grayscale" else "RGB"
        with Image.open(path) as opened:
            small = opened.convert(mode).resize((image["width"], image["height"]))
        found = np.asarray(small, dtype=np.float32).reshape(image["height"], image["width"], -1) / 255
        return found.transpose(2, 0, 1)

    return Rows(
        [str(path.relative_to(data)) for path in files],
        [path.relative_to(data).parts[0] for path in files],
        lambda first, last: {name: np.stack([pixels(path) for path in files[first:last]])},
    )


def _table(data: Path, signature: dict[str, Any], target: str | None) -> Rows:
    rows = table_files.read_table(data)
    if not target or target not in rows.columns:
        raise step.Problem(f"Give the column with the truth as target. Columns: {', '.join(map(str, rows.columns))}")
    missing = [one["name"] for one in signature["inputs"] if one["name"] not in rows.columns]
    if missing:
        raise step.Problem(f"The table has no column {missing[0]!r}, which the model needs.")

    def batch(first: int, last: int) -> Tensors:
        return {
            one["name"]: _column(rows[one["name"]].iloc[first:last], one["datatype"]) for one in signature["inputs"]
        }

    return Rows([str(number) for number in range(len(rows))], rows[target].tolist(), batch)


def _column(values: pd.Series, datatype: str) -> np.ndarray:
    if datatype == "BYTES":
        return values.fillna("").astype(str).to_numpy(object)[:, None]
    return values.to_numpy(np.float32)[:, None]


def _onnx(file: Path, signature: dict[str, Any]) -> Callable[[Tensors], np.ndarray]:
    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    # Classifiers of tables give labels first; the numbers are the last output.
    wanted = signature["outputs"][-1]["name"]
    return lambda tensors: np.asarray(session.run([wanted], tensors)[0])


def _torch(file: Path) -> Callable[[Tensors], np.ndarray]:
    if importlib.util.find_spec("torch") is None:
        raise step.Problem(f"{file.name} needs PyTorch. Convert the model first, with the component onnx-convert.")
    import torch  # noqa: PLC0415 - only for models of PyTorch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = torch.jit.load(file, map_location="cpu").eval()

    def run(tensors: Tensors) -> np.ndarray:
        with torch.no_grad():
            return model(*(torch.from_numpy(value) for value in tensors.values())).numpy()

    return run
