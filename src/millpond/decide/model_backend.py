"""What runs a model, told by the names of its files: Triton's layout, or one model at the top of the folder."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath

from millpond.errors import Invalid

# Backends by the file that makes a model one of theirs, in the order in which they are looked for.
_FILES = (
    ("MLmodel", "mlflow"),
    ("model.onnx", "onnxruntime"),
    ("model.pt2", "pytorch"),
    ("model.pt", "pytorch"),
    ("model.joblib", "sklearn"),
    ("model.py", "python"),
)


def backend_of(written: str, paths: Iterable[str]) -> str:
    """The backend for a version, written `model@3`, with these files. Invalid if it cannot be served."""
    names = {PurePosixPath(path).name for path in paths if _is_place(path)}
    for name, backend in _FILES:
        if name in names:
            return backend
    raise Invalid(
        f"{written} has no model that can be run.",
        hint=f"Register a folder with 1/{' or 1/'.join(name for name, _ in _FILES[1:])}, or an MLflow model (MLmodel).",
    )


def _is_place(path: str) -> bool:
    """True for `model.onnx` and `3/model.onnx`: deeper files belong to the model, and are not it."""
    parts = PurePosixPath(path).parts
    return len(parts) == 1 or (len(parts) == 2 and parts[0].isdecimal())
