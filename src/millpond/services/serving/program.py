"""The program that replicas, routers and batch jobs run: `millpond.serve`, carried into their working directory.

Machines that run jobs need no Millpond. The same files make the same commit, so it is stored and cached once.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import millpond.serve

# The name it has there: the package imports itself by relative names alone.
PACKAGE = "millpond_serve"
# What the program itself needs, and each kind of model.
# The last two are those of tritonclient's gRPC part.
_ALWAYS = ("numpy", "httptools", "uvloop", "orjson", "grpcio", "tritonclient", "protobuf", "packaging")
_BACKENDS: Mapping[str, tuple[str, ...]] = {
    "onnxruntime": ("onnxruntime",),
    "pytorch": ("torch",),
    "sklearn": ("scikit-learn", "joblib"),
    "mlflow": ("mlflow",),
    "python": (),
}


@cache
def program_files() -> Mapping[str, bytes]:
    """The files of the program by their paths in a working directory."""
    top = Path(millpond.serve.__file__).parent
    return {
        f"{PACKAGE}/{path.relative_to(top)}": path.read_bytes()
        for path in sorted(top.rglob("*.py"))
        if "__pycache__" not in path.parts
    }


def requirements(backend: str, *more: str) -> str:
    """requirements.txt for a model of this backend. Versions are pinned by the lock of the environment."""
    return "".join(f"{name}\n" for name in sorted({*_ALWAYS, *_BACKENDS.get(backend, ()), *more}))
