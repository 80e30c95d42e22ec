"""Models written in Python: `class Model` of ours, or `class TritonPythonModel` as in Triton.

class Model:
    inputs = {"x": ("FP32", [-1, 4])}     # optional, as `outputs`: where there is no config
    outputs = {"y": ("FP32", [-1, 2])}
    def load(self, path): ...             # optional; the folder of the version
    def predict(self, inputs): ...        # dict of arrays -> dict of arrays
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..config import fill_in
from ..errors import ServeError
from ..tensors import DATATYPES
from ..tensors.datatypes import Array
from . import triton_python
from .base import Arrays, Backend, Source
from .modules import import_model
from .stacked import Stacked
from .triton_python import writable


def load(source: Source) -> Sequence[Backend]:
    triton_python.install_utils()
    module = import_model(source)
    if hasattr(module, "TritonPythonModel"):
        return triton_python.load(source, module.TritonPythonModel)
    if not hasattr(module, "Model"):
        raise source.refuse(f"{source.file.name} has neither a class Model nor a class TritonPythonModel")
    fill_in(source.config, _declared(source, module.Model, "inputs"), _declared(source, module.Model, "outputs"))
    return [Stacked(_PythonModel(source, module.Model)) for _ in range(source.instances)]


class _PythonModel:
    # Code of people may wait for anything.
    inline = False

    def __init__(self, source: Source, kind: Any) -> None:
        try:
            self._model = kind()
            if hasattr(self._model, "load"):
                self._model.load(str(source.version_folder))
        except Exception as error:
            raise source.refuse(f"{type(error).__name__}: {error}") from error

    def predict(self, inputs: Arrays, outputs: Sequence[str]) -> Mapping[str, Array]:
        answer = self._model.predict({name: writable(array) for name, array in inputs.items()})
        if not isinstance(answer, Mapping):
            raise ServeError(500, f"predict() must return a dict of arrays, not {type(answer).__name__}")
        return {name: np.asarray(value) for name, value in answer.items()}

    def close(self) -> None:
        if hasattr(self._model, "close"):
            self._model.close()


def _declared(source: Source, kind: Any, side: str) -> list[tuple[str, str, list[int]]]:
    """Inputs or outputs that the class itself names."""
    declared = getattr(kind, side, {})
    try:
        found = [(name, datatype, [int(size) for size in dims]) for name, (datatype, dims) in declared.items()]
    except (AttributeError, TypeError, ValueError):
        raise source.refuse(f'Model.{side} must look like {{"name": ("FP32", [-1, 4])}}') from None
    for name, datatype, _ in found:
        if datatype not in DATATYPES:
            raise source.refuse(f"Model.{side}: datatype {datatype!r} of '{name}' is unknown")
    return found
