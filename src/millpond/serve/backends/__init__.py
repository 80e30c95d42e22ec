"""The frameworks that run models, chosen by the configuration or by the files of a version."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import cast

from ..config import PbConfig
from ..errors import ServeError
from .base import Backend, Load, Source


@dataclass(frozen=True, slots=True)
class BackendKind:
    """`backend` and `platform` as configurations name them; `files` in the order in which they are looked for."""

    name: str
    platform: str
    files: tuple[str, ...]
    module: str
    # What to install, where it is missing.
    packages: str


KINDS = (
    BackendKind("onnxruntime", "onnxruntime_onnx", ("model.onnx",), "onnx", "onnxruntime"),
    BackendKind("pytorch", "pytorch_libtorch", ("model.pt", "model.pt2"), "torch", "torch"),
    BackendKind("mlflow", "", ("MLmodel",), "mlflow", "mlflow"),
    BackendKind("sklearn", "", ("model.joblib", "model.pkl"), "sklearn", "scikit-learn joblib"),
    BackendKind("python", "", ("model.py",), "python", ""),
)


def choose_kind(config: PbConfig, name: str, version_folder: Path) -> tuple[BackendKind, Path]:
    """The backend of a version and its file; 400 if there is none."""
    named = config.backend or config.platform
    if named:
        kind = next((each for each in KINDS if named in (each.name, each.platform)), None)
        if kind is None:
            raise ServeError(
                400, f"model '{name}' wants the backend '{named}'; there are {', '.join(each.name for each in KINDS)}"
            )
        candidates: Sequence[BackendKind] = (kind,)
    else:
        candidates = KINDS
    for kind in candidates:
        for file in [config.default_model_filename] if config.default_model_filename else kind.files:
            if (version_folder / file).exists() and (named or _suits(kind, file)):
                return kind, version_folder / file
    looked_for = (
        [config.default_model_filename] if config.default_model_filename else [f for k in candidates for f in k.files]
    )
    raise ServeError(400, f"model '{name}' has none of {', '.join(looked_for)} in {version_folder.name}/")


def load_instances(kind: BackendKind, source: Source) -> Sequence[Backend]:
    try:
        module = import_module(f".{kind.module}", __package__)
    except ImportError as error:
        raise source.refuse(f"{error}; install {kind.packages or 'what model.py imports'}") from error
    return cast(Load, module.load)(source)


def _suits(kind: BackendKind, file: str) -> bool:
    """True if a file of this name is one of the backend: an own name of a configuration is judged by its ending."""
    endings = {Path(each).suffix or each for each in kind.files}
    return (Path(file).suffix or file) in endings
