"""`python -m millpond.serve.check DIR --json FILE`: load a version, run inputs made from its signature, measure both.

Code of the model (pickles, model.py) runs in this process: whoever calls it does so where that may happen.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from .config import read_written
from .errors import ServeError
from .repository.layout import ModelFolder, choose_versions
from .repository.loading import load_version
from .repository.warmup import ask, filled
from .request import InferRequest
from .tensors import Tensor

SCHEMA = "millpond.model-check/1"
RUNS = 50
# No more runs once they took this long together.
MOST_SECONDS = 20.0
# Sizes that free dimensions are tried with; many networks refuse images of a few pixels.
_SIZES = (1, 16, 64, 224)
_PACKAGES = ("onnxruntime", "torch", "scikit-learn", "mlflow", "mlflow-skinny", "numpy")


@dataclass(slots=True)
class ModelCheck:
    """What was found out. Times in milliseconds of one request with one row; memory in bytes."""

    schema: str = SCHEMA
    passed: bool = False
    error: str | None = None
    backend: str | None = None
    max_batch_size: int = 0
    inputs: list[dict[str, Any]] = field(default_factory=list)
    outputs: list[dict[str, Any]] = field(default_factory=list)
    load_ms: float | None = None
    first_ms: float | None = None
    median_ms: float | None = None
    p95_ms: float | None = None
    runs: int = 0
    # What the process takes more than before the model was loaded; what it took at its most.
    memory: int | None = None
    peak_memory: int | None = None
    python: str = platform.python_version()
    packages: dict[str, str] = field(default_factory=dict)


def main(arguments: Sequence[str] | None = None) -> int:
    """0 if the model passed, 1 if not; the report says why."""
    parser = argparse.ArgumentParser(prog="python -m millpond.serve.check", description="Load and try a model.")
    parser.add_argument("folder", type=Path, metavar="DIR", help="Folder of the model, in Triton's layout or bare.")
    parser.add_argument("--name", default="model", help="Name of the model.")
    parser.add_argument("--version", type=int, metavar="N", help="Number of the version (default: as in DIR).")
    parser.add_argument("--json", type=Path, metavar="FILE", help="File for the report (default: standard output).")
    given = parser.parse_args(arguments)
    found = check_model(given.folder, given.name, given.version)
    text = json.dumps(asdict(found), indent=2)
    if given.json:
        given.json.write_text(text + "\n", "utf-8")
    sys.stdout.write(_summary(given.name, found) if given.json else text + "\n")
    return 0 if found.passed else 1


def check_model(folder: Path, name: str, version: int | None = None) -> ModelCheck:
    """Load the newest version in the folder, called `version`, and run it; errors are part of the report."""
    found = ModelCheck()
    before = _memory("VmRSS")
    began = time.perf_counter()
    try:
        model = ModelFolder(name, folder, version)
        available, written = model.versions(), read_written(folder)
        number = choose_versions(written, available, model)[-1]
        served, _ = load_version(name, number, folder, available[number], written)
    except ServeError as error:
        found.error = error.message
        return found
    found.load_ms = _milliseconds(began)
    described = served.metadata([served.version])
    found.backend, found.max_batch_size = served.config.backend, served.config.max_batch_size
    found.inputs, found.outputs = described["inputs"], described["outputs"]
    try:
        _run(served, found)
    finally:
        served.close()
    found.memory = max(0, _memory("VmRSS") - before)
    found.peak_memory = _memory("VmHWM")
    found.packages = dict(_installed())
    return found


def _run(served: Any, found: ModelCheck) -> None:
    if not found.inputs:
        found.error = "its inputs are not known: add a config.pbtxt, or a signature to the MLflow model"
        return
    request = None
    for size in _SIZES:
        request = _made(served.config.name, found.inputs, size)
        began = time.perf_counter()
        answer = ask(served, request)
        if not isinstance(answer, ServeError):
            found.first_ms = _milliseconds(began)
            break
        # The error for the smallest input is the one that people understand.
        found.error = found.error or f"an input made from its signature failed: {answer.message}"
        if all(-1 not in entry["shape"][1:] for entry in found.inputs):
            return
    else:
        return
    found.error = None
    found.passed = True
    _measure(served, request, found)


def _measure(served: Any, request: InferRequest, found: ModelCheck) -> None:
    times: list[float] = []
    end = time.perf_counter() + MOST_SECONDS
    while len(times) < RUNS and (not times or time.perf_counter() < end):
        began = time.perf_counter()
        answer = ask(served, request)
        if isinstance(answer, ServeError):
            found.passed, found.error = False, f"it answered once, then failed: {answer.message}"
            return
        times.append(_milliseconds(began))
    times.sort()
    found.runs = len(times)
    found.median_ms = times[len(times) // 2]
    found.p95_ms = times[min(len(times) - 1, int(len(times) * 0.95))]


def _made(name: str, inputs: list[dict[str, Any]], size: int) -> InferRequest:
    tensors = []
    for entry in inputs:
        first, *rest = entry["shape"] or [1]
        shape = [1 if first == -1 else first, *(size if each == -1 else each for each in rest)]
        shape = shape if entry["shape"] else []
        tensors.append(Tensor(entry["name"], entry["datatype"], filled(entry["datatype"], shape, random=True)))
    return InferRequest(name, tuple(tensors))


def _milliseconds(began: float) -> float:
    return round((time.perf_counter() - began) * 1000, 3)


def _memory(key: str) -> int:
    """Bytes of this process, now (VmRSS) or at the most (VmHWM); 0 where the system does not say."""
    try:
        lines = Path(f"/proc/{os.getpid()}/status").read_text("ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{key}:")), 0)


def _installed() -> Iterator[tuple[str, str]]:
    for name in _PACKAGES:
        try:
            yield name, metadata.version(name)
        except metadata.PackageNotFoundError:
            continue


def _summary(name: str, found: ModelCheck) -> str:
    if not found.passed:
        return f"{name} failed: {found.error}\n"
    memory = (found.memory or 0) / 1_000_000
    return f"{name} passed: median {found.median_ms} ms, loaded in {found.load_ms} ms, {memory:.0f} MB\n"


if __name__ == "__main__":
    sys.exit(main())
